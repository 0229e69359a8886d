"""Small authored stories of everyday life."""

from __future__ import annotations

from pydantic import Field, model_validator

from bench.catalogue.facts import Activity, Fact
from bench.catalogue.texts import Authored, Prose, Slug, Split, Text


class EpisodeEvent(Text):
    """``after``: days since the first event."""

    after: int | tuple[int, int]


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
            barred = [activity.value for activity in event.does if activity in self.bars]
            if barred:
                raise ValueError(f"bars {barred[0]!r}, which its own event does: {event.text!r}")
        return self
