"""Stage 3, deep alignment: which constraints hold here and now. Pure code.

Per dimension: an unexpired state overrides, in its scope, what normally holds; a
condition that is met overrides a trait; newer replaces older only of the same kind
and scope; whatever still contradicts stays unresolved. No single rule fits all three
kinds of conflict (temporary, lasting, conditional), so the kind decides.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta

from agents.contract import Constraint, ConstraintKind, ConstraintStatus, Polarity
from agents.methods.iba.scope import holds

_RANK = {ConstraintKind.TRAIT: 0, ConstraintKind.CONDITIONAL: 1, ConstraintKind.STATE: 2}

OPEN_STATE = timedelta(days=45)  # how long a state without an end is believed after it was last seen

Key = tuple[str, str, str, str, str, str]


def align(
    constraints: Sequence[Constraint],
    *,
    dates: Mapping[str, datetime],
    request: str,
    as_of: datetime,
    day: datetime | None = None,
    topics: Collection[str] = (),
) -> tuple[Constraint, ...]:
    """The constraints with status and reason, in a fixed order.

    ``day`` is when the action takes place, at ``as_of`` or later: what is over by then has no effect.

    ``dates`` maps known event ids to their times; citations of others are dropped, and so is a
    constraint without any. ``topics`` are the dimensions that bear on the task; empty means all.
    The result does not depend on the order given, and aligning it again changes nothing.
    """
    grouped: dict[Key, list[Constraint]] = {}
    for constraint in constraints:
        known = tuple(sorted(set(constraint.evidence) & dates.keys(), key=lambda event: (dates[event], event)))
        if known:
            grouped.setdefault(_key(constraint), []).append(replace(constraint, evidence=known))
    merged = [_merge(group, dates) for _, group in sorted(grouped.items())]
    gate = _Gate(dates, request, as_of, max(day or as_of, as_of), topics)
    gated = [gate.pass_through(item) for item in merged]
    holding = [item for item in gated if item.status is ConstraintStatus.DRAFT]
    return tuple(_settle(item, holding, dates) if item.status is ConstraintStatus.DRAFT else item for item in gated)


def contradict(one: Constraint, other: Constraint) -> bool:
    """Two values wished for one dimension, or one value both wished and refused. Free text never contradicts."""
    if not one.dimension or one.dimension != other.dimension or not one.value or not other.value:
        return False
    if one.polarity is other.polarity is Polarity.FOR:
        return one.value != other.value
    return one.value == other.value and one.polarity is not other.polarity


def _key(item: Constraint) -> Key:
    """What makes two constraints the same one. The wording counts only where no value was recognised."""
    text = "" if item.value else item.text
    return (item.dimension, item.value, text, item.polarity.value, item.kind.value, item.scope)


def _merge(group: Sequence[Constraint], dates: Mapping[str, datetime]) -> Constraint:
    """One constraint for the same key: evidence united, the latest end, the strongest strength.

    The latest end counts, since the newest text knows best how long a state lasts.
    """
    first = min(group, key=lambda item: (len(item.constraint_id), item.constraint_id, item.text))
    events = sorted({event for item in group for event in item.evidence}, key=lambda event: (dates[event], event))
    ends = [item.valid_until for item in group if item.valid_until is not None]
    starts = [item.valid_from for item in group if item.valid_from is not None]
    return replace(
        first,
        evidence=tuple(events),
        valid_from=min(starts, default=None),
        valid_until=max(ends, default=None),
        strength=max(item.strength for item in group),
        status=ConstraintStatus.DRAFT,
        reason="",
    )


@dataclass(frozen=True, slots=True)
class _Gate:
    """What does not hold here and now, each with its reason."""

    dates: Mapping[str, datetime]
    request: str
    as_of: datetime
    day: datetime
    topics: Collection[str]

    def pass_through(self, item: Constraint) -> Constraint:
        """Unchanged where it holds; else expired, not yet begun, of no concern or out of scope."""
        expired = self._expired(item)
        if expired:
            return replace(item, status=ConstraintStatus.EXPIRED, reason=expired)
        if item.valid_from is not None and item.valid_from > self.as_of:
            return _out(item, f"begins on {item.valid_from:%Y-%m-%d}")
        if self.topics and item.dimension and item.dimension not in self.topics:
            return _out(item, "not relevant to this request")
        inside, reason = holds(item.scope, self.request, self.as_of)
        return item if inside else _out(item, f"suppressed: {reason}")

    def _expired(self, item: Constraint) -> str:
        if item.valid_until is not None:
            return f"over on {item.valid_until:%Y-%m-%d}" if item.valid_until <= self.day else ""
        seen = _newest(item, self.dates)
        unseen = item.kind is ConstraintKind.STATE and seen + OPEN_STATE < self.as_of
        return f"last seen on {seen:%Y-%m-%d} and no end given" if unseen else ""


def _out(item: Constraint, reason: str) -> Constraint:
    return replace(item, status=ConstraintStatus.OUT_OF_SCOPE, reason=reason)


def _settle(item: Constraint, holding: Sequence[Constraint], dates: Mapping[str, datetime]) -> Constraint:
    rivals = [other for other in holding if contradict(item, other)]
    beaten = _beaten_by(item, rivals, dates)
    if beaten is not None:
        return beaten
    standing = [
        other for other in rivals
        if _beaten_by(other, [rival for rival in holding if contradict(other, rival)], dates) is None
    ]  # fmt: skip
    if standing:
        names = ", ".join(sorted(other.constraint_id for other in standing))
        return replace(
            item, status=ConstraintStatus.UNRESOLVED, reason=f"contradicts {names}, and neither is newer or narrower"
        )
    return replace(item, status=ConstraintStatus.ACTIVE, reason="")


def _beaten_by(item: Constraint, rivals: Sequence[Constraint], dates: Mapping[str, datetime]) -> Constraint | None:
    """The item marked as overridden or superseded, or None where no rival beats it."""
    stronger = [other for other in rivals if _RANK[other.kind] > _RANK[item.kind]]
    if stronger:
        winner = max(stronger, key=lambda other: (_RANK[other.kind], _newest(other, dates), other.constraint_id))
        what = "a state that holds for now" if winner.kind is ConstraintKind.STATE else "a condition that is met"
        return replace(item, status=ConstraintStatus.OVERRIDDEN, reason=f"{winner.constraint_id} is {what}")
    newer = [
        other for other in rivals
        if other.kind is item.kind and other.scope == item.scope and _newest(other, dates) > _newest(item, dates)
    ]  # fmt: skip
    if newer:
        winner = max(newer, key=lambda other: (_newest(other, dates), other.constraint_id))
        return replace(item, status=ConstraintStatus.SUPERSEDED, reason=f"{winner.constraint_id} is newer")
    return None


def _newest(item: Constraint, dates: Mapping[str, datetime]) -> datetime:
    return max(dates[event] for event in item.evidence)
