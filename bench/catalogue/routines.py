"""What comes back in a life by itself: records of rent, shifts, the school run."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field, StringConstraints, model_validator

from bench.catalogue.facts import Fact
from bench.catalogue.texts import TEXT_SLOT, Authored, DayKind, Prose, Slug, Text, of_split

MonthDay = Annotated[str, StringConstraints(pattern=r"^(0[1-9]|1[0-2])-(0[1-9]|[12]\d|3[01])$")]
Kept = Literal["amount", "n", "time"]

DIFFERS = frozenset({"amount", "n", "time", "clock", "date", "ref"})  # slots that are filled anew each time


class Rhythm(Authored):
    """When it comes: on days of the week, every few days, on days of the month, or on dates. One of the four."""

    week: tuple[DayKind, ...] = ()
    every: tuple[int, int] | None = None  # shortest and longest gap in days
    month: tuple[int, ...] = ()
    dates: tuple[MonthDay, ...] = ()

    @model_validator(mode="after")
    def _one(self) -> Rhythm:
        given = [name for name in ("week", "every", "month", "dates") if getattr(self, name)]
        if len(given) != 1:
            found = ", ".join(given) or "none"
            raise ValueError(f"rhythm takes one of week, every, month, dates; found {found}")
        if self.every and not 1 <= self.every[0] <= self.every[1] <= 120:
            raise ValueError(f"every {list(self.every)} must be a range within 1 to 120 days")
        if not all(1 <= day <= 28 for day in self.month):
            raise ValueError(f"month {list(self.month)} must be days within 1 to 28, which every month has")
        return self


class Routine(Authored):
    """``skipped``: share of the times that leave no record. ``keeps``: slots that stay as they are in one life; a time
    that is kept is a few minutes early or late. A life has one of the texts, in which something differs each time."""

    slug: Slug
    name: Prose
    needs: tuple[Fact, ...] = ()
    excludes: tuple[Fact, ...] = ()
    countries: tuple[Slug, ...] = ()
    rhythm: Rhythm
    months: tuple[int, ...] = ()
    skipped: float = Field(default=0.1, ge=0, le=0.9)
    keeps: tuple[Kept, ...] = ()
    texts: tuple[Text, ...] = Field(min_length=2, max_length=6)

    def open_to(self, facts: frozenset[str]) -> bool:
        return {fact.value for fact in self.needs} <= facts and not any(f.value in facts for f in self.excludes)

    @model_validator(mode="after")
    def _possible(self) -> Routine:
        if not all(1 <= month <= 12 for month in self.months):
            raise ValueError(f"months {list(self.months)} are not all within 1 to 12")
        changing = DIFFERS - {name for name in self.keeps if name != "time"}
        for text in self.texts:
            if not changing & {name for name, _ in TEXT_SLOT.findall(text.text)}:
                slots = ", ".join(sorted(changing))
                raise ValueError(f"{text.text!r} would be the same each time; it needs one of the slots {slots}")
            if text.sets:
                raise ValueError(f"{text.text!r} sets a fact, which what comes back each week cannot do")
        for split in ("dev", "test"):
            if not of_split(self.texts, split):
                raise ValueError(f"no text serves {split}")
        return self
