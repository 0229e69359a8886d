"""What passes between the stages of ``iba``."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime

from agents.contract import Constraint, ConstraintStatus, Evidence, Step


@dataclass(frozen=True, slots=True)
class Aspect:
    """Something that could decide a good answer, and contrasting behaviours as somebody's records would show them."""

    name: str
    behaviours: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Outlook:
    """What the request is about: the day on which it takes place, at ``as_of`` or later, and the aspects."""

    day: datetime
    aspects: tuple[Aspect, ...]


@dataclass(frozen=True, slots=True)
class EvidenceNet:
    """The evidence that the task conditions (C_u(x) in the paper), within the budget, oldest first.

    ``waiting``: the lanes of the first look, for what the budget may still hold.
    """

    evidence: tuple[Evidence, ...]
    trace: tuple[Step, ...] = ()
    waiting: tuple[Lane, ...] = ()


@dataclass(frozen=True, slots=True)
class Lane:
    """Events for one purpose, best first. Lanes take turns, so none of them fills the budget alone."""

    name: str
    events: tuple[Evidence, ...]


@dataclass(frozen=True, slots=True)
class Thoughts:
    """What was drawn from the evidence: free notes and typed constraints, each citing events of the net."""

    notes: str
    constraints: tuple[Constraint, ...]
    trace: tuple[Step, ...] = ()


@dataclass(frozen=True, slots=True)
class Alignment:
    """All constraints with their status and, but for the active ones, a reason."""

    constraints: tuple[Constraint, ...]
    trace: tuple[Step, ...] = ()

    @property
    def active(self) -> tuple[Constraint, ...]:
        return self._with(ConstraintStatus.ACTIVE)

    @property
    def unresolved(self) -> tuple[Constraint, ...]:
        return self._with(ConstraintStatus.UNRESOLVED)

    def _with(self, status: ConstraintStatus) -> tuple[Constraint, ...]:
        return tuple(item for item in self.constraints if item.status is status)


@dataclass(frozen=True, slots=True)
class Checked:
    """One binary check: did the draft meet a constraint, and where."""

    constraint_id: str
    met: bool | None  # None: the draft has no place for it
    where: str = ""
