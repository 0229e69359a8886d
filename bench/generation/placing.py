"""Which texts a life is given and on which days, so that no two of them contradict each other."""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Iterable
from dataclasses import dataclass, field
from datetime import datetime
from functools import lru_cache
from random import Random

from bench.catalogue import Text
from bench.catalogue.facts import Fact
from bench.catalogue.texts import AnyText, of_split
from bench.generation.spec import DAYS, StatePeriod, day_at

MUCH = 5  # texts in common with another life, from which on others are handed out first
FEW_HOLDERS = 8
NEAR = 28  # days within which a text finds a day that fits it, else it is left out
_WEEKDAYS = {name: number for number, name in enumerate(("mon", "tue", "wed", "thu", "fri", "sat", "sun"))}
# A short form is a day where it is capitalised or a number follows: who sat in the sun names none, nor does "Sat down".
_WEEKDAY = re.compile(
    r"\b(?:((?i:mon|tues|wednes|thurs|fri|satur|sun))(?i:days?)"
    r"|((?i:mon|tue|wed|thu|fri|sat|sun))(?= \d)"
    r"|(Mon|Tue|Wed|Thu|Fri|Sat|Sun|MON|TUE|WED|THU|FRI|SAT|SUN)"
    r"(?! (?:on|in|at|by|down|up|under|over|next|there|through|with|for|beside|behind)\b))\b"
)
_KINDS = {"weekday": {0, 1, 2, 3, 4}, "weekend": {5, 6}} | {name: {number} for name, number in _WEEKDAYS.items()}
_PARTS = {"morning": (6, 10), "midday": (11, 13), "afternoon": (14, 17), "evening": (18, 22), "night": (23, 23)}
_HOURS = {"calendar": (7, 20), "device_log": (0, 23), "watch_log": (17, 23), "bank": (6, 20)}
_IMPLIED = {"flies": {"away"}, "hosts": {"at_home"}, "works": {"not_away"}}
APART = ({"at_home", "away"}, {"away", "not_away"})


@dataclass(frozen=True)
class Turn:
    """Facts that hold before a day, and others that hold from it on."""

    day: int
    before: frozenset[str]
    after: frozenset[str]

    def on(self, day: int) -> frozenset[str]:
        return self.after if day >= self.day else self.before


@dataclass
class Facts:
    """What holds all year (``always``) and what holds at some time of it (``ever``), as far as it is settled yet.

    ``turns``: when facts change that do not hold all year.
    """

    always: set[str]
    ever: set[str]
    presumed: set[str] = field(default_factory=set)
    begun: set[str] = field(default_factory=set)  # what holds from some day on, since a text says so
    turns: tuple[Turn, ...] = ()

    def suit(self, text: Text) -> bool:
        """On any day. A text that changes a fact comes too late where another text already leans on that fact."""
        excluded = {fact.value for fact in text.excludes}
        return text.presumes <= self.always and not excluded & self.ever and not self._too_late(text)

    def suit_some_day(self, text: Text) -> bool:
        if not self.turns:
            return self.suit(text)
        passing = frozenset[str]().union(*(turn.before | turn.after for turn in self.turns))
        excluded = {fact.value for fact in text.excludes}
        steady = text.presumes - passing <= self.always and not excluded - passing & self.ever
        on_a_day = any(allows(self.turns, day, text) for day in (0, *(turn.day for turn in self.turns)))
        return steady and on_a_day and not self._too_late(text)

    def on(self, day: int) -> frozenset[str]:
        return frozenset(self.always).union(*(turn.on(day) for turn in self.turns))

    def _too_late(self, text: Text) -> bool:
        return bool({fact.value for fact in text.sets} & self.presumed)

    def lean_on(self, facts: Iterable[Fact]) -> None:
        """From now on no text changes these."""
        self.presumed |= {fact.value for fact in facts}

    def take(self, text: Text) -> None:
        self.presumed |= text.presumes | {fact.value for fact in text.excludes}
        for fact, holds in text.sets.items():
            self.always.discard(fact.value)
            if holds:
                self.ever.add(fact.value)
                self.begun.add(fact.value)


def allows(turns: Iterable[Turn], day: int, text: Text) -> bool:
    """Whether what a text presumes of the facts that change is so on this day."""
    excluded = {fact.value for fact in text.excludes}
    for turn in turns:
        holding, not_holding = turn.on(day), (turn.before | turn.after) - turn.on(day)
        if text.presumes & not_holding or excluded & holding:
            return False
    return True


@dataclass
class Deck:
    """Hands out texts that fit the persona and its split, none twice, and first those that few other lives hold.

    ``holders``: the lives of the dataset that hold a text; ``common``: how many of its texts this one has
    in common with each of them.
    """

    facts: Facts
    split: str
    voices: frozenset[str]
    rng: Random
    holders: dict[str, list[str]] = field(default_factory=dict)
    life: str = ""
    some_day: bool = False  # whether a text will do that does not fit the whole year
    used: set[str] = field(default_factory=set)
    common: Counter[str] = field(default_factory=Counter)

    def draw(self, texts: Iterable[Text], count: int) -> list[Text]:
        """Up to ``count`` of a list's texts; of equally rare ones those first that presume something of the persona."""
        return self.draw_from(of_split(tuple(texts), self.split), count)

    def draw_from(self, texts: Iterable[AnyText], count: int) -> list[AnyText]:
        """As ``draw``, from texts that are known to serve the split."""
        if count < 1:
            return []
        suit = self.facts.suit_some_day if self.some_day else self.facts.suit
        fresh = [t for t in texts if t.text not in self.used and t.voice in self.voices and suit(t)]
        self.rng.shuffle(fresh)
        fresh.sort(key=lambda t: (self.uses(t), not t.presumes))
        # Half of the draw prefers fitting texts; the rest is plain chance.
        head = fresh[: (count + 1) // 2]
        tail = fresh[len(head) :]
        self.rng.shuffle(tail)
        tail.sort(key=self.uses)
        drawn: list[AnyText] = []
        near: list[AnyText] = []
        for text in [*head, *tail]:
            if len(drawn) < count and suit(text):
                if self.is_near(text):
                    near.append(text)
                else:
                    drawn.append(self.hand_out(text))
        for text in near:
            if len(drawn) < count and suit(text):
                drawn.append(self.hand_out(text))
        return drawn

    def uses(self, text: Text) -> int:
        return len(self.holders.get(text.text, ()))

    def is_near(self, text: Text) -> bool:
        """Whether it stands in a life that has much in common with this one. What many hold is near to all."""
        holders = self.holders.get(text.text, ())
        return len(holders) <= FEW_HOLDERS and any(self.common[life] >= MUCH for life in holders)

    def hand_out(self, text: AnyText) -> AnyText:
        self.facts.take(text)
        self.used.add(text.text)
        holders = self.holders.setdefault(text.text, [])
        self.common.update(holders)
        holders.append(self.life)
        return text


@dataclass
class Days:
    """What somebody does on each day, and what states and stories forbid while they last."""

    periods: tuple[StatePeriod, ...] = ()
    holidays: frozenset[int] = frozenset()
    turns: tuple[Turn, ...] = ()
    done: dict[int, set[str]] = field(default_factory=lambda: defaultdict(set))
    closed: dict[int, set[str]] = field(default_factory=lambda: defaultdict(set))  # what stories forbid

    def place(self, day: int, text: Text, group: str = "", *, exactly: bool = False) -> int | None:
        """The nearest day from ``day`` on, else before it, on which the text can stand; None where there is none.

        ``group``: the side of a condition ("at_weekend", "not at_weekend") that the text is to show.
        """
        near = (day,) if exactly else (*range(day, day + NEAR), *range(day - 1, day - NEAR, -1))
        found = next((d for d in near if 0 <= d < DAYS and self._fits(d, text, group, exactly=exactly)), None)
        if found is not None:
            self.take(found, text)
        return found

    def allows(self, day: int, text: Text) -> bool:
        """Whether the text can stand on this very day."""
        return 0 <= day < DAYS and self._fits(day, text, "", exactly=False)

    def take(self, day: int, text: Text) -> None:
        self.done[day] |= doing(text)

    def close(self, days: range, activities: set[str]) -> bool:
        """Forbids activities on these days, unless one is done on one of them already."""
        if any(activities & self.done.get(day, set()) for day in days):
            return False
        for day in days:
            self.closed[day] |= activities
        return True

    def _fits(self, day: int, text: Text, group: str, *, exactly: bool) -> bool:
        doing_then = doing(text)
        if doing_then & self.barred(day) or any(pair <= doing_then | self.done.get(day, set()) for pair in APART):
            return False
        if exactly:
            return True
        at = day_at(day)
        open_ = allows(self.turns, day, text) and ("works" not in doing_then or day not in self.holidays)
        return open_ and (at.weekday() in weekdays(text, group) and (not text.months or at.month in text.months))

    def barred(self, day: int) -> set[str]:
        on = day_at(day).date()
        by_state = {activity.value for period in self.periods if period.holds(on) for activity in period.state.bars}
        return by_state | self.closed.get(day, set())


def doing(text: Text) -> set[str]:
    """Activities that a text shows, with what follows from them."""
    shown = {activity.value for activity in text.does}
    return shown.union(*(_IMPLIED.get(activity, set()) for activity in shown))


def weekdays(text: Text, group: str = "") -> set[int]:
    """The weekdays on which a text can stand: as it is marked, else as the one weekday that it names."""
    kinds = (text.day,) if isinstance(text.day, str) else text.day
    named = _named(text.text)
    fitting = kind_days(kinds) if kinds else set(named) if len(named) == 1 else set(range(7))
    side = {"at_weekend": {5, 6}, "not at_weekend": {0, 1, 2, 3, 4}}.get(group, fitting)
    return fitting & side or (fitting if kinds else side)


@lru_cache(maxsize=20_000)
def _named(words: str) -> frozenset[int]:
    return frozenset(_WEEKDAYS["".join(match)[:3].lower()] for match in _WEEKDAY.findall(words))


def kind_days(kinds: Iterable[str]) -> set[int]:
    """Kinds of day as weekdays, Monday being 0; all where no kind is given."""
    return set().union(*(_KINDS[kind] for kind in kinds)) or set(range(7))


def moment(day: int, text: Text, rng: Random) -> datetime:
    """An hour at which the text's channel, or the text itself, says that it was written."""
    if isinstance(text.hours, tuple):
        low, high = text.hours
    else:
        low, high = _PARTS[text.hours] if text.hours else _HOURS.get(text.channel, (7, 22))
    return day_at(day, rng.randint(low, high), rng.randint(0, 59))


def at_clock(at: datetime, clock: str) -> datetime:
    """The same day at "18:05"; as it is without a clock."""
    hour, _, minute = clock.partition(":")
    return at.replace(hour=int(hour), minute=int(minute)) if clock else at
