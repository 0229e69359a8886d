"""The part of a year that shows no preference: what comes back by itself, small stories, and texts about nothing."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from random import Random

from bench.catalogue import Catalogue, Person, Text
from bench.catalogue.episodes import Episode
from bench.catalogue.facts import Fact
from bench.catalogue.routines import Routine
from bench.catalogue.texts import MACHINE, of_split
from bench.generation.filling import Usual
from bench.generation.life import Life
from bench.generation.placing import kind_days
from bench.generation.spec import DAYS, EventSpec, PersonaSpec, day_at, day_number

STORIES = 3  # one in so many everyday events belongs to a story
OFTEN = (3, 6)  # fewest and most records of one routine in a history, which is an excerpt of a year
SEEN_TWICE = 2  # fewer would not show that something comes back
HOME = {Fact.FLAT.value, Fact.HOUSE.value, Fact.GROUND_FLOOR.value, Fact.UPPER_FLOOR.value, Fact.FLATSHARE.value}
BEGINNINGS = 12  # days on which a story may begin, one of which has to fit all of its events


def everyday_events(catalogue: Catalogue, persona: PersonaSpec, room: Mapping[str, int], life: Life) -> list[EventSpec]:
    """``room``: how many records of each channel there are to be, so that no channel tells that nothing is shown."""
    events = list(_changes(catalogue, persona.person, life)) if any(room.values()) else []
    events += _stories(catalogue, persona, sum(room.values()) // STORIES, life)
    events += _recurring(catalogue, persona, _left(room, events), life)
    events += _about_nothing(catalogue, persona, _left(room, events), life)
    return events


def apportioned(count: int, shares: Mapping[str, int]) -> dict[str, int]:
    """``count`` in these proportions; what is left over goes to the largest remainders."""
    total = max(1, sum(shares.values()))
    whole = {name: count * share // total for name, share in shares.items()}
    order = sorted(shares, key=lambda name: (-(count * shares[name] % total), name))
    for name in order[: count - sum(whole.values())]:
        whole[name] += 1
    return whole


def _left(room: Mapping[str, int], events: Sequence[EventSpec]) -> dict[str, int]:
    """The room that is left; where a channel holds more than its share, the others hold less."""
    taken = Counter(event.channel for event in events)
    open_ = {channel: max(0, count - taken[channel]) for channel, count in room.items()}
    return apportioned(max(0, sum(room.values()) - len(events)), open_)


def _changes(catalogue: Catalogue, person: Person, life: Life) -> Iterator[EventSpec]:
    """How each change is told, all of its texts that fit the person."""
    for change in person.changes:
        for text in of_split(catalogue.changes[change.slug].told, life.deck.split):
            if life.deck.facts.suit_some_day(text):
                life.deck.hand_out(text)
                yield from life.event(day_number(change.on) + life.rng.randint(*text.span), text, "everyday")


def _stories(catalogue: Catalogue, persona: PersonaSpec, count: int, life: Life) -> Iterator[EventSpec]:
    """Episodes that can happen to the persona, each told whole and in order, at most ``count`` events of them."""
    facts = frozenset(life.deck.facts.always)
    fitting = [
        episode
        for data in catalogue.domains.values()
        for episode in data.episodes.values()
        if episode.split == persona.split and episode.open_to(facts)
    ]
    life.rng.shuffle(fitting)
    fitting.sort(key=lambda episode: life.deck.uses(episode.events[0]))
    for episode in fitting:
        apart = not life.deck.is_near(episode.events[0])
        if apart and len(episode.events) <= count and all(map(life.deck.facts.suit, episode.events)):
            told = _told(episode, life)
            life.deck.facts.lean_on((*episode.needs, *episode.excludes))
            count -= len(told)
            yield from told


def _told(episode: Episode, life: Life) -> list[EventSpec]:
    """All of a story's events on days that fit them, or none."""
    for _ in range(BEGINNINGS):
        days = _days(episode, life)
        if days and life.days.close(range(days[0], days[-1] + 1), {activity.value for activity in episode.bars}):
            break
    else:
        return []
    found: list[EventSpec] = []
    for day, text in zip(days, episode.events, strict=True):
        life.deck.hand_out(text)
        life.days.take(day, text)
        found.append(life.written(day, text.text, text, "everyday", after=found[-1].occurred_at if found else None))
    return found


def _days(episode: Episode, life: Life) -> list[int]:
    """A day for each event, none before the one that is told before it; empty where one finds none."""
    first, days = life.rng.randint(2, DAYS - 40), list[int]()
    if episode.months and day_at(first).month not in episode.months:
        return []
    for event in episode.events:
        low, high = (event.after, event.after) if isinstance(event.after, int) else event.after
        wanted = max(first + life.rng.randint(low, high), days[-1] if days else 0)
        # A weekday that an event is marked with may lie up to six days later.
        found = next((day for day in range(wanted, wanted + 7) if life.days.allows(day, event)), None)
        if found is None:
            return []
        days.append(found)
    return days


def _recurring(catalogue: Catalogue, persona: PersonaSpec, room: dict[str, int], life: Life) -> Iterator[EventSpec]:
    """Records of the persona's routines, those that few have first; where machines record, as long as there is room."""
    mine = [r for r in catalogue.routines.values() if _has(r, persona, life)]
    life.rng.shuffle(mine)
    mine.sort(key=lambda routine: not routine.needs)
    left = {channel: count if channel in MACHINE else count // 4 for channel, count in room.items()}
    for routine in mine:
        texts = [text for text in of_split(routine.texts, persona.split) if left.get(text.channel, 0) >= SEEN_TWICE]
        for text in life.deck.draw_from(texts, 1):
            found = list(_recorded(routine, text, min(left[text.channel], life.rng.randint(*OFTEN)), life))
            left[text.channel] -= len(found)
            yield from found


def _has(routine: Routine, persona: PersonaSpec, life: Life) -> bool:
    here = not routine.countries or persona.person.country in routine.countries
    days = (0, *(turn.day for turn in life.deck.facts.turns))
    return here and any(_comes(routine, day, life) for day in days)


def _comes(routine: Routine, day: int, life: Life) -> bool:
    facts = life.deck.facts
    return routine.open_to(facts.on(day)) and not {fact.value for fact in routine.excludes} & facts.begun


def _recorded(routine: Routine, text: Text, count: int, life: Life) -> Iterator[EventSpec]:
    """``count`` of the times that a routine comes in the year, less those that leave no record."""
    days = [day for day in occurrences(routine, life.rng) if life.rng.random() >= routine.skipped]
    days = [day for day in days if _comes(routine, day, life)]
    life.deck.facts.lean_on((*routine.needs, *routine.excludes))
    usual: dict[frozenset[str], Usual] = {}  # rent is the same each month until somebody moves
    found = 0
    for day in life.rng.sample(days, len(days)):
        kept = usual.setdefault(life.deck.facts.on(day) & HOME, Usual(frozenset(routine.keeps)))
        for event in life.again(day, text, kept) if found < count else ():
            found += 1
            yield event


def occurrences(routine: Routine, rng: Random) -> list[int]:
    """The days of the history on which it would come."""
    rhythm = routine.rhythm
    if rhythm.every:
        days = [rng.randint(0, rhythm.every[1])]
        while days[-1] < DAYS:
            days.append(days[-1] + rng.randint(*rhythm.every))
    elif rhythm.week:
        days = [day for day in range(DAYS) if day_at(day).weekday() in kind_days(rhythm.week)]
    elif rhythm.month:
        days = [day for day in range(DAYS) if day_at(day).day in rhythm.month]
    else:
        days = [day for day in range(DAYS) if f"{day_at(day):%m-%d}" in rhythm.dates]
    return [day for day in days if day < DAYS and (not routine.months or day_at(day).month in routine.months)]


def _about_nothing(catalogue: Catalogue, persona: PersonaSpec, room: dict[str, int], life: Life) -> list[EventSpec]:
    """Texts of the persona's own domains and of no domain, others where another life holds these already."""
    by_domain = {slug: of_split(data.everyday, persona.split) for slug, data in catalogue.domains.items()}
    own = [text for domain in persona.domains for text in by_domain[domain]]
    own += of_split(catalogue.everyday, persona.split)
    others = [text for slug, texts in by_domain.items() if slug not in persona.domains for text in texts]
    events: list[EventSpec] = []
    fresh = ([text for text in pool if not life.deck.uses(text)] for pool in (own, others))
    for pool in (*fresh, own, others):
        for channel, count in _left(room, events).items():
            events += _placed([text for text in pool if text.channel == channel], count, life)
    for pool in (own, others):  # where a channel has no more
        events += _placed(pool, sum(room.values()) - len(events), life)
    return events


def _placed(texts: Sequence[Text], count: int, life: Life) -> Iterator[EventSpec]:
    for text in life.deck.draw_from(texts, count):
        yield from life.event(life.rng.randint(1, DAYS - 1), text, "everyday")
