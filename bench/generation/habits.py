"""Regularities in a life: the person's own value, the records that show it, and what records say together."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from decimal import Decimal
from random import Random

from bench.catalogue import Catalogue, Scenario, Text
from bench.catalogue.regularities import LEAST_RECORDS, WEEKDAYS, Regularity
from bench.catalogue.texts import of_split
from bench.generation.filling import money
from bench.generation.placing import Deck
from bench.generation.resolve import Resolved
from bench.generation.spec import DAYS, TASKS_FROM_DAY, Conflict, Habit, PersonaSpec, Tier
from bench.grading.normalise import close, normalise

HABITS = 2  # of one person, in as many domains
FIRST, LAST = 5, DAYS - 5  # days of the first record and of the last
TEXTS = 2  # templates that the records of one life come from, at most
KINDS = {"amount": "number", "number": "number", "time": "time", "weekday": "weekday"}  # answer -> type of a rule
_ROUND = (10_000, 5_000, 1_000, 500, 100, 50, 25, 10, 5, 1)
_NEVER = datetime(2025, 1, 1, tzinfo=UTC)  # no form of these types hangs on the day


@dataclass(frozen=True)
class Recorded:
    """One record before it stands in a history. ``clock``: the time of day at which it is written, "" for any."""

    day: int
    text: Text
    value: str
    clock: str = ""


@dataclass(frozen=True)
class TypedAnswer:
    """What a task wants to be told. ``tolerance``: in the person's currency, in minutes, or a number."""

    answer: str
    value: str
    tolerance: Decimal
    currency: str

    @property
    def plain(self) -> float | int | str:
        """The value as an argument."""
        if KINDS[self.answer] != "number":
            return self.value
        number = float(self.value)
        return int(number) if number.is_integer() else number

    def fill(self, text: str) -> str:
        named = {"value": self.value, "tolerance": f"{self.tolerance.normalize():f}", "cur": self.currency}
        for name, filling in named.items():
            text = text.replace(f"{{{name}}}", filling)
        return text


def draw_habits(catalogue: Catalogue, persona: PersonaSpec, rng: Random) -> tuple[Habit, ...]:
    """At most HABITS, each of another domain, of those that a scenario of the person's domains asks for."""
    facts = frozenset(tag.value for tag in persona.person.tags)
    asked = {r for d in persona.domains for s in catalogue.domains[d].scenarios.values() for r in s.regularities}
    open_to: dict[str, list[str]] = {}
    for reference in sorted(asked):
        regularity = catalogue.regularities[reference]
        texts = of_split(regularity.texts, persona.split)
        if regularity.open_to(facts) and any(text.suits(facts) and text.voice == "plain" for text in texts):
            open_to.setdefault(reference.split(".")[0], []).append(reference)
    domains = rng.sample(sorted(open_to), min(HABITS, len(open_to)))
    chosen = [rng.choice(open_to[domain]) for domain in domains]
    return tuple(Habit(reference, rng.choice(catalogue.regularities[reference].values)) for reference in chosen)


def records(regularity: Regularity, habit: Habit, deck: Deck, rate: float) -> list[Recorded]:
    """As many as the file says, one in each of as many equal stretches of the year.

    Where the largest or smallest counts, two of those before the first task come to the person's value, one exactly
    and one within the tolerance, so the answer never hangs on one record.
    """
    rng = deck.rng
    texts = _fitting(of_split(regularity.texts, deck.split), deck)
    count = rng.randint(*regularity.records) if texts else 0
    width = (LAST - FIRST) / max(1, count)
    days = [FIRST + int(width * n + rng.random() * width) for n in range(count)]
    values = [_beside(regularity, habit.value, rng) for _ in days]
    for n in rng.sample(range(count), round(regularity.stray * count)):
        values[n] = _stray(regularity, habit.value, rng)
    if regularity.rule != "usual" and count:
        early = [n for n, day in enumerate(days) if day < TASKS_FROM_DAY - 1]
        first, second = rng.sample(early, 2)
        values[first] = habit.value
        values[second] = _near(regularity, habit.value, rng)
    return [_recorded(regularity, day, rng.choice(texts), value, rate) for day, value in zip(days, values, strict=True)]


def contrasts(regularity: Regularity, deck: Deck, count: int) -> Iterator[Recorded]:
    """Records of the same look that do not belong."""
    texts = _fitting(of_split(regularity.contrast, deck.split), deck)
    for _ in range(count if texts else 0):
        yield Recorded(deck.rng.randint(FIRST, LAST), deck.rng.choice(texts), "")


def _fitting(texts: Sequence[Text], deck: Deck) -> list[Text]:
    fitting = [text for text in texts if text.voice in deck.voices and deck.facts.suit(text)]
    chosen = deck.rng.sample(fitting, min(TEXTS, len(fitting)))
    for text in chosen:
        deck.facts.take(text)
    return chosen


def _recorded(regularity: Regularity, day: int, text: Text, value: float, rate: float) -> Recorded:
    said = worded(regularity, value, rate)
    if regularity.answer == "weekday":
        return Recorded(day, text.model_copy(update={"day": (said[:3].lower(),)}), said)
    return Recorded(day, text, said, said if regularity.answer == "time" and not text.hours else "")


def worded(regularity: Regularity, value: float, rate: float) -> str:
    """The value as records and answers write it: "12.50", "5", "18:05", "Tuesday"."""
    if regularity.answer == "amount":
        return money(round(value * 100), rate)
    if regularity.answer == "time":
        return _clock(round(value))
    return WEEKDAYS[int(value)] if regularity.answer == "weekday" else str(round(value))


def _clock(minutes: int) -> str:
    hour, minute = divmod(minutes % (24 * 60), 60)
    return f"{hour:02d}:{minute:02d}"


def _beside(regularity: Regularity, own: float, rng: Random) -> float:
    low, high = regularity.around
    if regularity.answer == "time":
        return own + rng.randint(round(low), round(high))
    # In whole per cents, so that every machine draws the same.
    share = rng.randint(round(low * 100), round(high * 100))
    return own * share / 100 if regularity.answer in ("amount", "number") else own


def _near(regularity: Regularity, own: float, rng: Random) -> float:
    """Within the tolerance, on the side on which all records lie."""
    away = rng.randint(0, 100) * min(regularity.tolerance, abs(own - _far(regularity, own))) / 100
    return own - away if regularity.rule == "most" else own + away


def _far(regularity: Regularity, own: float) -> float:
    edge = regularity.around[0] if regularity.rule == "most" else regularity.around[1]
    return own + edge if regularity.answer == "time" else own * edge


def _stray(regularity: Regularity, own: float, rng: Random) -> float:
    others = [value for value in regularity.values if abs(value - own) > regularity.tolerance]
    return rng.choice(others or list(regularity.values))


def settle(regularity: Regularity, shown: Sequence[str]) -> str:
    """What records say together, "" where there are too few or two values are equally frequent.

    Usual is, of numbers and weekdays, the one seen most often; of amounts and times, which hardly repeat, the middle.
    """
    if len(shown) < LEAST_RECORDS:
        return ""
    ordered = sorted(shown, key=lambda value: _form(regularity, value))
    if regularity.rule != "usual":
        return ordered[-1] if regularity.rule == "most" else ordered[0]
    if regularity.answer in ("amount", "time"):
        return ordered[(len(ordered) - 1) // 2]
    (first, most), *rest = Counter(ordered).most_common(2)
    return "" if rest and rest[0][1] == most else first


def _form(regularity: Regularity, value: str) -> Decimal:
    found = normalise(value, KINDS[regularity.answer], as_of=_NEVER)
    return found[1] if isinstance(found, tuple) else Decimal(str(found))


def agrees(answer: str, value: str, wanted: str, tolerance: Decimal) -> bool:
    """Whether an answer of this kind is right; "" never is."""
    kind = KINDS[answer]
    one, other = (normalise(text, kind, as_of=_NEVER) if text else None for text in (value, wanted))
    return one is not None and other is not None and close(one, other, kind, tolerance)


def typed_answer(catalogue: Catalogue, persona: PersonaSpec, reference: str) -> TypedAnswer | None:
    """The person's own value as an answer; None where they have no such habit."""
    habit = next((habit for habit in persona.habits if habit.regularity == reference), None)
    if habit is None:
        return None
    regularity = catalogue.regularities[reference]
    country = next(c for c in catalogue.countries if c.slug == persona.person.country)
    tolerance = Decimal(str(regularity.tolerance))
    if regularity.answer == "amount":
        tolerance = Decimal(money(round(tolerance * 100), country.rate)) if tolerance else tolerance
    value = worded(regularity, habit.value, country.rate)
    return TypedAnswer(regularity.answer, value, tolerance, country.currency)


def asked_habits(
    catalogue: Catalogue, persona: PersonaSpec, scenario: Scenario, as_of: datetime
) -> Iterator[tuple[str, TypedAnswer, Resolved]]:
    """What a scenario asks for, where the records up to ``as_of`` say it: all of them are the gold events."""
    for reference in scenario.regularities:
        answer = typed_answer(catalogue, persona, reference)
        if answer is None:
            continue
        seen = tuple(i for i in persona.shown.get(reference, ()) if persona.events[i].occurred_at < as_of)
        said = settle(catalogue.regularities[reference], [persona.events[i].value for i in seen])
        if agrees(answer.answer, said, answer.value, answer.tolerance):
            yield reference, answer, Resolved(answer.value, seen, (), Conflict.NONE, Tier.COMBINED)


def offered(answer: str, value: str, tolerance: float, place: int) -> list[str]:
    """Three values to choose from, ``value`` among them as the ``place``-th by size (of 3).

    All lie further apart than twice the tolerance, weekdays two days apart.
    """
    steps = [step - place % 3 for step in range(3)]
    if answer == "weekday":
        return [WEEKDAYS[(WEEKDAYS.index(value) + 2 * step) % 7] for step in steps]
    if answer == "time":
        hour, minute = map(int, value.split(":"))
        apart = max(45, round(3 * tolerance))
        return [_clock(60 * hour + minute + apart * step) for step in steps]
    exponent = int(Decimal(value).as_tuple().exponent)
    own = int(Decimal(value).scaleb(-exponent))
    beyond = max(own // 4, int(Decimal(str(3 * tolerance)).scaleb(-exponent)), 1)
    # As round as the value itself, which would stand out else.
    round_to = next(step for step in _ROUND if own % step == 0 and step <= beyond)
    apart = -(-beyond // round_to) * round_to
    # Nobody pays nothing: where the lower ones would, all go up.
    first = max(steps[0], -((own - 1) // apart))
    return [str(Decimal(own + apart * (first + n)).scaleb(exponent)) for n in range(3)]
