"""Shapes that every part of scoring shares."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum


class VerdictValue(StrEnum):
    """What a source says of one checkpoint. An unscored reply is no verdict and has no row."""

    PASS = "pass"  # noqa: S105 (a grade, not a password)
    FAIL = "fail"
    CANNOT_JUDGE = "cannot_judge"

    @property
    def decides(self) -> bool:
        """True for pass and fail."""
        return self is not VerdictValue.CANNOT_JUDGE


class VerdictSource(StrEnum):
    RULE = "rule"
    JUDGE = "judge"
    HUMAN = "human"
    ADJUDICATION = "adjudication"


class View(StrEnum):
    """Whose verdicts are combined: rules and judges, humans and adjudication, or all."""

    AI = "ai"
    HUMAN = "human"
    COMBINED = "combined"


class Origin(StrEnum):
    """Which step of the combination gave the value."""

    ADJUDICATION = "adjudication"
    HUMANS = "humans"
    RULE = "rule"
    PANEL = "panel"
    NONE = "none"


class Flag(StrEnum):
    """What a reader of a combined score should know beside its value."""

    REOPENED = "reopened"  # an input changed after the adjudication
    PROVISIONAL = "provisional"  # an adjudication is open; the value may change
    SPLIT_PANEL = "split_panel"  # judges of the panel say pass and fail
    CANNOT_JUDGE = "cannot_judge"  # a rule, judge or rater could not judge
    CONTRADICTION = "contradiction"  # a judge's rationale says the opposite of its verdict
    NO_MAJORITY = "no_majority"  # the configured panel reached no majority


@dataclass(frozen=True, slots=True)
class VerdictRow:
    """One line of the append-only verdict table, for one trajectory and rubric version.

    ``name`` is the judge or rater; ``created_at`` is any number that grows
    with time (a row id serves). ``contradictory`` is set when the row is
    written, from ``judges.contradicts``.
    """

    checkpoint_id: str
    source: VerdictSource
    name: str
    value: VerdictValue
    created_at: int
    rationale: str = ""
    contradictory: bool = False


@dataclass(frozen=True, slots=True)
class Policy:
    """How verdicts are combined. A change of any field needs a new ``version``.

    ``panel`` names the configured judges: its length is the denominator of
    the majority, whoever answered. ``audit_share`` (0..1) is the random share
    of trajectories that humans grade whatever the judges said.
    """

    version: str
    panel: tuple[str, ...]
    humans_required: int = 2
    adjudicate_human_vs_panel: bool = True
    audit_share: float = 0.1

    def __post_init__(self) -> None:
        if len(set(self.panel)) != len(self.panel):
            raise ValueError(f"Policy {self.version}: panel names a judge twice: {self.panel}")
        if self.humans_required < 1:
            raise ValueError(f"Policy {self.version}: humans_required is {self.humans_required}, not 1 or more")
        if not 0 <= self.audit_share <= 1:
            raise ValueError(f"Policy {self.version}: audit_share is {self.audit_share}; 0 to 1 is right")


@dataclass(frozen=True, slots=True)
class Outcome:
    """The combined score of one checkpoint.

    ``value`` is PASS, FAIL or None (unscored, which is not a fail). ``reason``
    says in a sentence why. ``adjudication_reason`` is "" unless
    ``needs_adjudication``.
    """

    value: VerdictValue | None
    origin: Origin
    reason: str
    needs_adjudication: bool = False
    adjudication_reason: str = ""
    flags: frozenset[Flag] = frozenset()
