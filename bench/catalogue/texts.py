"""One authored text of an event: where it stands, what it presumes of a life and what it changes in it."""

from __future__ import annotations

import re
from collections.abc import Sequence
from enum import StrEnum
from functools import cached_property
from typing import Annotated, ClassVar, Literal, TypeVar

from pydantic import BaseModel, ConfigDict, StringConstraints, model_validator

from bench.catalogue.facts import Activity, Fact

Slug = Annotated[str, StringConstraints(pattern=r"^[a-z][a-z0-9_]{0,63}$")]
Prose = Annotated[str, StringConstraints(strip_whitespace=True, min_length=1)]
Split = Literal["dev", "test"]
DimensionRef = Annotated[str, StringConstraints(pattern=r"^[a-z_]+\.[a-z0-9_]+$")]

# "{city}", "{day:iso}", "{amount:4-9}"
SLOT = re.compile(r"\{([a-z_]+)(?::([a-z]+))?\}")
TEXT_SLOT = re.compile(r"\{([a-z_0-9]+)(?::([0-9]+-[0-9]+))?\}")


class Channel(StrEnum):
    MESSAGE = "message"
    CHAT = "chat"
    CALENDAR = "calendar"
    SEARCH = "search"
    PURCHASE = "purchase"
    REVIEW = "review"
    NOTE = "note"
    DEVICE_LOG = "device_log"
    BANK = "bank"
    WATCH_LOG = "watch_log"
    FORM = "form"


MACHINE = frozenset({"calendar", "search", "purchase", "device_log", "bank", "watch_log", "form"})

DayKind = Literal["weekday", "weekend", "mon", "tue", "wed", "thu", "fri", "sat", "sun"]
PartOfDay = Literal["morning", "midday", "afternoon", "evening", "night"]
Voice = Literal["plain", "terse", "chatty", "formal", "no_caps", "second_language"]

# A slot that a text may hold -> the fact without which nobody can fill it.
FILLED: dict[str, str] = {
    **dict.fromkeys(("friend", "friend2", "neighbour", "doctor", "dentist", "bank", "cur", "ref", "line"), ""),
    **dict.fromkeys(("town", "town2", "country", "street", "shop", "pharmacy", "cafe"), ""),
    **dict.fromkeys(("amount", "n", "time", "weekday", "date", "tomorrow", "month", "clock"), ""),
    "child": "parent",
    "child2": "two_children",
    "partner": "partner",
    "pet": "pet",
    "colleague": "colleagues",
    "boss": "employed",
    "sibling": "sibling",
    "mother": "mother_alive",
    "employer": "employed",
    "school": "school_child",
}
RANGED = frozenset({"amount", "n", "time"})
STATE_SLOTS = frozenset({"end_day", "end_date", "end_weekday", "days"})


class Authored(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True, str_strip_whitespace=True)


class Text(Authored):
    """``fits`` is the older name of ``needs``; both count. ``split``: whom it serves, by its order where not given."""

    own_slots: ClassVar[frozenset[str]] = STATE_SLOTS  # beside those that a life fills

    channel: Channel
    text: Prose
    split: Split | None = None
    fits: tuple[Fact, ...] = ()
    needs: tuple[Fact, ...] = ()
    excludes: tuple[Fact, ...] = ()
    sets: dict[Fact, bool] = {}
    does: tuple[Activity, ...] = ()
    day: DayKind | tuple[DayKind, ...] = ()
    hours: PartOfDay | tuple[int, int] | None = None
    months: tuple[int, ...] = ()
    variant: Slug | None = None
    voice: Voice = "plain"

    @cached_property
    def presumes(self) -> frozenset[str]:
        """Facts that must hold: what is written, and what the slots need."""
        slots = {FILLED.get(name, "") for name, _ in TEXT_SLOT.findall(self.text)} - {""}
        return frozenset({fact.value for fact in (*self.fits, *self.needs)} | slots)

    def suits(self, facts: frozenset[str]) -> bool:
        return self.presumes <= facts and not any(fact.value in facts for fact in self.excludes)

    @model_validator(mode="after")
    def _possible(self) -> Text:
        both = sorted({*self.fits, *self.needs} & set(self.excludes))
        if both:
            raise ValueError(f"{both[0].value!r} stands in needs and in excludes")
        if not all(1 <= month <= 12 for month in self.months):
            raise ValueError(f"months {list(self.months)} are not all within 1 to 12")
        for name, span in TEXT_SLOT.findall(self.text):
            if name not in FILLED and name not in self.own_slots:
                raise ValueError(f"unknown slot {name!r} in {self.text!r}; allowed: {', '.join(sorted(FILLED))}")
            if (name in RANGED) != bool(span):
                ranged = ", ".join(sorted(RANGED))
                raise ValueError(f"slot {name!r} in {self.text!r}: {ranged} take a range, others none")
        return self


class ChoiceRecord(Text):
    """How a service's record of an earlier choice looks: ``{chosen}`` and ``{passed}`` each list two options.

    ``{ref}`` keeps the records of two lives apart, which may read alike and show opposite orders.
    """

    own_slots: ClassVar[frozenset[str]] = frozenset({"chosen", "passed", "noun"})

    @model_validator(mode="after")
    def _both_sides(self) -> ChoiceRecord:
        missing = {"chosen", "passed", "ref"} - {name for name, _ in TEXT_SLOT.findall(self.text)}
        if missing:
            raise ValueError(f"record {self.text!r} does not hold {{{min(missing)}}}")
        return self


AnyText = TypeVar("AnyText", bound=Text)


def of_split(texts: Sequence[AnyText], split: str) -> tuple[AnyText, ...]:
    """The texts that serve one split, each text exactly one: as marked; of the unmarked the first three eighths are
    dev's (one of two, two of five, three of eight; a single one is test's)."""
    unmarked = sum(text.split is None for text in texts)
    devs = (2 * 3 * unmarked + 8) // 16 if unmarked > 1 else 0
    mine: list[AnyText] = []
    seen = 0
    for text in texts:
        side = text.split or ("dev" if seen < devs else "test")
        seen += text.split is None
        if side == split:
            mine.append(text)
    return tuple(mine)
