"""The authored files beside dimensions, states and scenarios: episodes, regularities and trades."""

from __future__ import annotations

from typing import Literal

from pydantic import Field, model_validator

from bench.catalogue.facts import Activity, Fact
from bench.catalogue.texts import Authored, OptionRef, Prose, Slug, Split, Text


class EpisodeEvent(Text):
    """``after``: days since the first event. ``shows``: a preference; only lives that hold it get this event."""

    after: int | tuple[int, int]
    shows: OptionRef | None = None


class Episode(Authored):
    """A small story of events that belong together, all of one split."""

    slug: Slug
    name: Prose
    split: Split
    needs: tuple[Fact, ...] = ()
    excludes: tuple[Fact, ...] = ()
    months: tuple[int, ...] = ()
    bars: tuple[Activity, ...] = ()
    events: tuple[EpisodeEvent, ...] = Field(min_length=3, max_length=8)

    def open_to(self, facts: frozenset[str]) -> bool:
        """Whether it can happen to somebody of whom these facts hold."""
        return {fact.value for fact in self.needs} <= facts and not any(f.value in facts for f in self.excludes)

    @model_validator(mode="after")
    def _in_order(self) -> Episode:
        for event in self.events:
            low, high = (event.after, event.after) if isinstance(event.after, int) else event.after
            if not 0 <= low <= high <= 120:
                raise ValueError(f"after: {event.after} is no day or range of days within 0 to 120")
        return self


class Regularity(Authored):
    """An answer that many records give together and none alone."""

    slug: Slug
    name: Prose
    question: Prose
    answer: Literal["amount", "number", "time", "weekday"]
    rule: Literal["most", "least", "usual"]
    draw: tuple[str | int | float, ...] = Field(min_length=2)
    spread: tuple[float, float] | None = None
    stray: float = Field(default=0.0, ge=0, le=0.3)
    records: tuple[int, int] = (8, 12)
    tolerance: float = Field(default=0.0, ge=0)
    needs: tuple[Fact, ...] = ()
    texts: tuple[Text, ...] = Field(min_length=4)
    contrast: tuple[Text, ...] = ()

    @model_validator(mode="after")
    def _whole(self) -> Regularity:
        for text in self.texts:
            if self.answer != "weekday" and "{value}" not in text.text:
                raise ValueError(f"record {text.text!r} does not hold {{value}}")
        if self.answer == "weekday" and self.rule != "usual":
            raise ValueError(f"a weekday has rule usual, not {self.rule!r}")
        if not 3 <= self.records[0] <= self.records[1] <= 40:
            raise ValueError(f"records {list(self.records)} must be a range within 3 to 40")
        return self


class Trade(Authored):
    """Two preferences that pull apart; each side's texts show that it was taken while the other was given up."""

    slug: Slug
    first: OptionRef
    second: OptionRef
    first_wins: tuple[Text, ...] = Field(min_length=4)
    second_wins: tuple[Text, ...] = Field(min_length=4)
