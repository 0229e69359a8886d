"""What many records show together and none alone: an amount, a number, a time or a weekday of somebody's habits."""

from __future__ import annotations

import re
from typing import ClassVar, Literal

from pydantic import Field, model_validator

from bench.catalogue.facts import Fact
from bench.catalogue.texts import (
    MACHINE,
    STATE_SLOTS,
    TEXT_SLOT,
    Authored,
    Prose,
    Slug,
    Text,
    of_split,
)

Answer = Literal["amount", "number", "time", "weekday"]
WEEKDAYS = ("Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday")
MIN_TEXTS, MIN_CONTRAST = 2, 1  # for each split
MOST_RECORDS = 20
LEAST_RECORDS = 4  # fewer of one kind are no regularity
_CLOCK = re.compile(r"([01]\d|2[0-3]):[0-5][05]")
# What a record shows, where the file says nothing: a share of an amount, minutes beside a time.
_SPREAD = {
    "amount": {"most": (0.65, 1.0), "least": (1.0, 1.5), "usual": (0.97, 1.03)},
    "time": {"most": (-40.0, 0.0), "least": (0.0, 40.0), "usual": (-8.0, 8.0)},
}


class RegularText(Text):
    """A record; ``{value}`` is what it shows. Where the answer is a weekday the record's own day shows it."""

    own_slots: ClassVar[frozenset[str]] = STATE_SLOTS | {"value"}

    @property
    def shows(self) -> bool:
        return any(name == "value" for name, _ in TEXT_SLOT.findall(self.text))


class Regularity(Authored):
    """``draw``: where a person's own value lies. ``contrast``: records of the same look that do not belong."""

    slug: Slug
    name: Prose
    question: Prose
    answer: Answer
    rule: Literal["most", "least", "usual"]
    draw: tuple[float, float] | tuple[str, ...]
    spread: tuple[float, float] | None = None
    stray: float = Field(default=0.0, ge=0, le=0.3)
    records: tuple[int, int] = (8, 12)
    tolerance: float = Field(default=0.0, ge=0)
    needs: tuple[Fact, ...] = ()
    excludes: tuple[Fact, ...] = ()
    texts: tuple[RegularText, ...]
    contrast: tuple[Text, ...]

    def open_to(self, facts: frozenset[str]) -> bool:
        """Whether somebody of whom these facts hold can have the habit."""
        return {fact.value for fact in self.needs} <= facts and not any(f.value in facts for f in self.excludes)

    @property
    def around(self) -> tuple[float, float]:
        """How far a record lies from the person's value: factors of an amount or number, minutes of a time."""
        return self.spread or _SPREAD.get(self.answer, {}).get(self.rule, (1.0, 1.0))

    @property
    def values(self) -> tuple[float, ...]:
        """What a person's own value can be: euros, numbers, minutes after midnight, weekdays from Monday, 0."""
        if self.answer == "weekday":
            return tuple(float(_weekday(str(day))) for day in self.draw)
        low, high = (
            _minutes(str(one)) if self.answer == "time" else float(one) for one in (self.draw[0], self.draw[1])
        )
        step = {"time": 5.0, "number": 1.0}.get(self.answer, 0.5 if high <= 50 else 1.0 if high <= 200 else 5.0)
        return tuple(low + step * n for n in range(int((high - low) / step + 1e-9) + 1))

    @property
    def chance(self) -> float:
        """The share of people whose value the best single guess meets within the tolerance, 0..1."""
        near = (sum(abs(one - guess) <= self.tolerance for one in self.values) for guess in self.values)
        return max(near) / len(self.values)

    @model_validator(mode="after")
    def _whole(self) -> Regularity:
        _check_draw(self)
        low, high = self.records
        if not LEAST_RECORDS <= low <= high <= MOST_RECORDS:
            raise ValueError(f"records {list(self.records)} must be a range within {LEAST_RECORDS} to {MOST_RECORDS}")
        if self.stray and self.rule != "usual":
            raise ValueError(f"stray {self.stray} goes with rule 'usual' alone, not with {self.rule!r}")
        if self.answer == "weekday" and (self.rule != "usual" or self.tolerance or self.spread):
            raise ValueError("a weekday has rule 'usual', no spread and tolerance 0")
        for text in self.texts:
            if text.channel not in MACHINE:
                raise ValueError(
                    f"text {text.text!r} is of channel {text.channel}; machine: {', '.join(sorted(MACHINE))}"
                )
            if self.answer != "weekday" and not text.shows:
                raise ValueError(f"text {text.text!r} does not hold {{value}}")
        for split in ("dev", "test"):
            if len(of_split(self.texts, split)) < MIN_TEXTS:
                raise ValueError(f"fewer than {MIN_TEXTS} texts for {split}")
            if len(of_split(self.contrast, split)) < MIN_CONTRAST:
                raise ValueError(f"fewer than {MIN_CONTRAST} texts of contrast for {split}")
        return self


class Typed(Authored):
    """How a scenario asks for a regularity's value. ``parameter``: of the committing call, "" where a text names it."""

    parameter: Slug | None = None
    checkpoint: Prose

    @model_validator(mode="after")
    def _names_it(self) -> Typed:
        if "{value}" not in self.checkpoint:
            raise ValueError(f"checkpoint {self.checkpoint!r} does not contain {{value}}")
        return self


def _check_draw(regularity: Regularity) -> None:
    draw, allowed = regularity.draw, "[9, 16]"
    texts = [one for one in draw if isinstance(one, str)]
    if regularity.answer == "weekday":
        good, allowed = len(texts) == len(draw) >= 2 and all(_weekday(day) >= 0 for day in texts), "[mon, tue, thu]"
    elif regularity.answer == "time":
        clocks = len(texts) == len(draw) == 2 and all(_CLOCK.fullmatch(one) for one in texts)
        good, allowed = clocks and texts[0] < texts[1], '["17:00", "20:30"], in steps of five minutes'
    else:
        good = not texts and len(draw) == 2 and 0 < float(draw[0]) < float(draw[1])
    if not good:
        raise ValueError(f"draw {list(draw)} does not fit the answer {regularity.answer!r}; such as {allowed}")


def _weekday(day: str) -> int:
    """Monday is 0; -1 for what is no day."""
    return next((n for n, name in enumerate(WEEKDAYS) if day.lower() in (name.lower(), name[:3].lower())), -1)


def _minutes(clock: str) -> int:
    hour, minute = clock.split(":")
    return 60 * int(hour) + int(minute)
