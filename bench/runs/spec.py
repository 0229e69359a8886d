"""What a run can be asked to be. Page, API, command and manifest take their options from here."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, fields
from enum import Enum, auto
from typing import TypeVar

T = TypeVar("T")


class Kind(Enum):
    TEXT = auto()
    NAMES = auto()
    NUMBER = auto()
    SUM = auto()
    SWITCH = auto()


@dataclass(frozen=True, slots=True)
class Option:
    """One field of ``RunSpec`` as a form, a schema or a command needs it. ``low`` and ``high`` are inclusive."""

    kind: Kind
    help: str
    default: object = None
    required: bool = False
    low: int | None = None
    high: int | None = None
    decides: bool = True  # whether it changes results, and so stands in the manifest


def _option(
    default: T, kind: Kind, text: str, *, required: bool = False, low: int | None = None, high: int | None = None,
    decides: bool = True,
) -> T:  # fmt: skip
    option = Option(kind, text, default, required, low, high, decides)
    return field(default=default, metadata={"option": option})


@dataclass(frozen=True, slots=True, kw_only=True)
class RunSpec:
    """A wish, not yet checked against what there is; ``bench.runs.launch.plan_run`` does that."""

    dataset: str = _option("", Kind.TEXT, "name of a dataset; its newest version is taken", required=True)
    methods: Sequence[str] = _option((), Kind.NAMES, "names of methods", required=True)
    model: str = _option("", Kind.TEXT, "offline, or the slug of a registered endpoint", required=True)
    judges: Sequence[str] = _option((), Kind.NAMES, "three endpoints; a simulated run has a panel of its own")
    domains: Sequence[str] = _option((), Kind.NAMES, "slugs of domains; all unless named")
    split: str = _option("", Kind.TEXT, "dev or test; both unless named")
    transfer: bool = _option(False, Kind.SWITCH, "hide what was shown in the task's own domain")
    limit: int | None = _option(None, Kind.NUMBER, "tasks, at most", low=1, high=10**6)
    repeats: int = _option(1, Kind.NUMBER, "trials of each task", low=1, high=20)
    seed: int = _option(1, Kind.NUMBER, "same seed, same audit slice", low=-(2**31), high=2**31 - 1)
    max_in_flight: int = _option(64, Kind.NUMBER, "units at work at once", low=1, high=1024, decides=False)
    budget_usd: float | None = _option(None, Kind.SUM, "stops new work when it is spent", decides=False)
    even_if_invalid: bool = _option(
        False, Kind.SWITCH, "run also on a dataset whose version fails its checks", decides=False
    )


OPTIONS: Mapping[str, Option] = {item.name: item.metadata["option"] for item in fields(RunSpec)}
