"""Stage 3, deep alignment: which constraints hold here and now. Pure code, but for one question about scopes.

About one matter: an unexpired state overrides, in its scope, what normally holds; a condition that is met overrides
a trait; newer replaces older only of the same kind and scope; whatever still contradicts stays unresolved. No single
rule fits all three kinds of conflict (temporary, lasting, conditional), so the kind decides. Only what stands itself
beats anything: a constraint whose winner is beaten comes back.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta

from agents.contract import JSON, LLM, Constraint, ConstraintKind, ConstraintStatus, Polarity, Stage, TaskInput
from agents.toolkit.rendering import chat, now_line, one_line, task_lines

_RANK = {ConstraintKind.TRAIT: 0, ConstraintKind.CONDITIONAL: 1, ConstraintKind.STATE: 2}
_ANSWERS = {"yes": True, "no": False}
_NOT = "not "

# How long a state without an end is believed after it was last seen. From neither the paper nor a measurement: set by
# us before the first run, and longer than the longest state of our own data (40 days). Longer states need another.
OPEN_STATE = timedelta(days=45)

Key = tuple[str, str, str, str, str, str]
Scopes = Mapping[str, bool | None]  # a scope without its "not", as ``plain`` gives it -> whether it holds


def match_scopes(task: TaskInput, constraints: Sequence[Constraint], day: datetime, *, llm: LLM) -> Scopes:
    """Which scopes hold for the request and its day; None where it does not tell. One model call, none without scopes.

    A scope and its opposite are one question, so that never both hold.
    """
    asked = sorted({plain(item.scope) for item in constraints} - {""})
    if not asked:
        return {}
    labels = {f"s{number}": scope for number, scope in enumerate(asked, 1)}
    lines = "\n".join(f"[{label}] {one_line(scope)}" for label, scope in labels.items())
    reply = llm.complete(
        chat("iba/scopes", task=task_lines(task), day=now_line(day), scopes=lines),
        stage=Stage.ALIGN,
        schema=_scopes_schema(),
    )
    rows = {str(row["id"]): str(row["holds"]) for row in (reply.parsed or {}).get("scopes", [])}
    return {scope: _ANSWERS.get(rows.get(label, "")) for label, scope in labels.items()}


def plain(scope: str) -> str:
    """The scope in lower case, without the "not " that makes it the opposite."""
    return scope.casefold().strip().removeprefix(_NOT).strip()


def align(
    constraints: Sequence[Constraint],
    *,
    dates: Mapping[str, datetime],
    as_of: datetime,
    day: datetime | None = None,
    scopes: Scopes | None = None,
) -> tuple[Constraint, ...]:
    """The constraints with status and reason, in a fixed order.

    ``day`` is when the action takes place, at ``as_of`` or later: what is over by then has no effect.
    ``dates`` maps known event ids to their times; citations of others are dropped, and so is a
    constraint without any. A scope that ``scopes`` does not know is one of which nothing is known.
    The result does not depend on the order given, and aligning it again changes nothing.
    """
    grouped: dict[Key, list[Constraint]] = {}
    for constraint in constraints:
        known = tuple(sorted(set(constraint.evidence) & dates.keys(), key=lambda event: (dates[event], event)))
        if known:
            grouped.setdefault(_key(constraint), []).append(replace(constraint, evidence=known))
    merged = [_merge(group, dates) for _, group in sorted(grouped.items())]
    gate = _Gate(dates, as_of, max(day or as_of, as_of), scopes or {})
    gated = [gate.pass_through(item) for item in merged]
    settled = _settled([item for item in gated if item.status is ConstraintStatus.DRAFT], dates)
    return tuple(settled.get(_key(item), item) for item in gated)


def contradict(one: Constraint, other: Constraint) -> bool:
    """Two values wished for in one matter, or one value both wished and refused. Without both words nothing does."""
    if not one.about or _same(one.about) != _same(other.about) or not one.value or not other.value:
        return False
    same_value = _same(one.value) == _same(other.value)
    if one.polarity is other.polarity is Polarity.FOR:
        return not same_value
    return same_value and one.polarity is not other.polarity


def _same(words: str) -> str:
    return " ".join(words.casefold().split())


def _key(item: Constraint) -> Key:
    """What makes two constraints the same one. The wording counts only where no value was given."""
    text = "" if item.value else item.text
    about, value, scope = _same(item.about), _same(item.value), _same(item.scope)
    return (about, value, text, item.polarity.value, item.kind.value, scope)


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
    as_of: datetime
    day: datetime
    scopes: Scopes

    def pass_through(self, item: Constraint) -> Constraint:
        """Unchanged where it holds; else expired, not yet begun, out of scope, or open since nothing tells."""
        expired = self._expired(item)
        if expired:
            return replace(item, status=ConstraintStatus.EXPIRED, reason=expired)
        if item.valid_from is not None and item.valid_from > self.day:
            reason = f"begins on {item.valid_from:%Y-%m-%d}"
            return replace(item, status=ConstraintStatus.OUT_OF_SCOPE, reason=reason)
        inside = self._inside(item.scope)
        if inside is None:
            reason = f"nothing tells whether this is {plain(item.scope)!r}"
            return replace(item, status=ConstraintStatus.UNRESOLVED, reason=reason)
        reason = f"this is not {item.scope!r}"
        return item if inside else replace(item, status=ConstraintStatus.OUT_OF_SCOPE, reason=reason)

    def _inside(self, scope: str) -> bool | None:
        if not plain(scope):
            return True
        holds = self.scopes.get(plain(scope))
        opposite = scope.casefold().strip().startswith(_NOT)
        return holds if holds is None else holds != opposite

    def _expired(self, item: Constraint) -> str:
        if item.valid_until is not None:
            return f"over on {item.valid_until:%Y-%m-%d}" if item.valid_until <= self.day else ""
        seen = _newest(item, self.dates)
        unseen = item.kind is ConstraintKind.STATE and seen + OPEN_STATE < self.as_of
        return f"last seen on {seen:%Y-%m-%d} and no end given" if unseen else ""


def _settled(holding: Sequence[Constraint], dates: Mapping[str, datetime]) -> dict[Key, Constraint]:
    """Each constraint with its status. A rival of higher rank or newer is looked at before those it may beat."""
    order = sorted(holding, key=lambda item: (_RANK[item.kind], _newest(item, dates), _key(item)), reverse=True)
    standing: list[Constraint] = []
    settled: dict[Key, Constraint] = {}
    for item in order:
        winner = next((other for other in standing if contradict(item, other) and _beats(other, item, dates)), None)
        if winner is None:
            standing.append(item)
        else:
            settled[_key(item)] = _beaten(item, winner)
    for item in standing:
        rivals = sorted(other.constraint_id for other in standing if contradict(item, other))
        reason = f"contradicts {', '.join(rivals)}, and neither is newer or narrower" if rivals else ""
        status = ConstraintStatus.UNRESOLVED if rivals else ConstraintStatus.ACTIVE
        settled[_key(item)] = replace(item, status=status, reason=reason)
    return settled


def _beats(winner: Constraint, item: Constraint, dates: Mapping[str, datetime]) -> bool:
    """By rank; or as the newer of the same kind and scope."""
    if winner.kind is not item.kind:
        return _RANK[winner.kind] > _RANK[item.kind]
    return _same(winner.scope) == _same(item.scope) and _newest(winner, dates) > _newest(item, dates)


def _beaten(item: Constraint, winner: Constraint) -> Constraint:
    if winner.kind is item.kind:
        return replace(item, status=ConstraintStatus.SUPERSEDED, reason=f"{winner.constraint_id} is newer")
    what = "a state that holds for now" if winner.kind is ConstraintKind.STATE else "a condition that is met"
    return replace(item, status=ConstraintStatus.OVERRIDDEN, reason=f"{winner.constraint_id} is {what}")


def _newest(item: Constraint, dates: Mapping[str, datetime]) -> datetime:
    return max(dates[event] for event in item.evidence)


def _scopes_schema() -> JSON:
    row: JSON = {
        "type": "object",
        "properties": {"id": {"type": "string"}, "holds": {"type": "string", "enum": ["yes", "no", "unknown"]}},
        "required": ["id", "holds"],
        "additionalProperties": False,
    }
    return {
        "type": "object",
        "properties": {"scopes": {"type": "array", "items": row}},
        "required": ["scopes"],
        "additionalProperties": False,
    }
