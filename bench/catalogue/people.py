"""Where people live, what they do and how they talk: the files of bench/data/people."""

from __future__ import annotations

from typing import Annotated

from pydantic import Field, model_validator

from bench.catalogue.facts import Fact
from bench.catalogue.routines import MonthDay
from bench.catalogue.texts import Authored, Prose, Slug

Names = Annotated[tuple[Prose, ...], Field(min_length=2)]


class Country(Authored):
    """``rate``: how much of the currency an amount of one euro becomes, roughly.

    ``holidays``: "MM-DD", when nobody works who need not.
    """

    slug: Slug
    name: Prose
    language: Prose
    currency: Annotated[str, Field(pattern="^[A-Z]{3}$")]
    rate: float = Field(gt=0)
    traits: tuple[Fact, ...] = ()
    holidays: tuple[MonthDay, ...] = ()
    timezone: Prose
    towns: Names
    women: Names
    men: Names
    families: Names
    shops: Names
    streets: Names
    transport: Names


class Occupation(Authored):
    """``kind``: facts that hold of whoever does it; ``ages``: the youngest and the oldest who do."""

    name: Prose
    ages: tuple[int, int]
    kind: tuple[Fact, ...]

    @model_validator(mode="after")
    def _possible(self) -> Occupation:
        if not 16 <= self.ages[0] <= self.ages[1] <= 99:
            raise ValueError(f"ages {list(self.ages)} must be a range within 16 to 99")
        if not {Fact.EMPLOYED, Fact.SELF_EMPLOYED, Fact.STUDENT} & set(self.kind):
            raise ValueError("kind says neither employed nor self_employed nor student")
        return self
