"""What can change in somebody's circumstances within a year, and how it is told."""

from __future__ import annotations

from pydantic import Field, model_validator

from bench.catalogue.facts import Fact
from bench.catalogue.texts import Authored, Prose, Slug, Text, of_split

TOLD = (2, 4)  # fewest and most texts of a split, all of which one life is given


class Told(Text):
    """``after``: days since the change, below 0 before it."""

    after: int | tuple[int, int]

    @property
    def span(self) -> tuple[int, int]:
        return (self.after, self.after) if isinstance(self.after, int) else self.after


class LifeChange(Authored):
    """``name``: as a timeline puts it; ``ages``: the youngest and the oldest to whom it happens."""

    slug: Slug
    name: Prose
    needs: tuple[Fact, ...] = ()
    excludes: tuple[Fact, ...] = ()
    ages: tuple[int, int] = (17, 99)
    months: tuple[int, ...] = ()
    sets: dict[Fact, bool] = Field(min_length=1)
    told: tuple[Told, ...]

    def open_to(self, facts: frozenset[str], age: int) -> bool:
        fitting = {fact.value for fact in self.needs} <= facts and not any(f.value in facts for f in self.excludes)
        return fitting and self.ages[0] <= age <= self.ages[1]

    @model_validator(mode="after")
    def _possible(self) -> LifeChange:
        for split in ("dev", "test"):
            count = len(of_split(self.told, split))
            if not TOLD[0] <= count <= TOLD[1]:
                raise ValueError(f"{count} texts serve {split}; a change is told in {TOLD[0]} to {TOLD[1]}")
        for text in self.told:
            if not -60 <= text.span[0] <= text.span[1] <= 60:
                raise ValueError(f"after: {text.after} is no day or range of days within -60 to 60")
            if text.sets:
                raise ValueError(f"{text.text!r} sets a fact; what changes stands in the change's own sets")
        return self
