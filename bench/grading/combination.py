"""The one place where verdicts become a score. docs/scoring.md describes it for people.

adjudication, else agreement of the required number of humans, else rule, else
majority of the configured panel. The order of rows never matters, and a row
given twice counts once.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Sequence

from bench.grading.types import Flag, Origin, Outcome, Policy, VerdictRow, VerdictSource, VerdictValue, View

_SOURCES = {
    View.AI: frozenset({VerdictSource.RULE, VerdictSource.JUDGE}),
    View.HUMAN: frozenset({VerdictSource.HUMAN, VerdictSource.ADJUDICATION}),
    View.COMBINED: frozenset(VerdictSource),
}


Latest = dict[tuple[VerdictSource, str], VerdictRow]
Votes = dict[VerdictValue, int]

_NO_VOTES: Votes = dict.fromkeys(VerdictValue, 0)


def combine(rows: Iterable[VerdictRow], policy: Policy, view: View = View.COMBINED) -> Outcome:
    """Combines all verdicts on one checkpoint of one trajectory under one rubric version.

    Raises ValueError where the rows belong to more than one checkpoint.
    Judges outside ``policy.panel`` are ignored.
    """
    kept = _relevant(rows, policy, view)
    latest = _latest(kept)
    panel = _votes(latest, VerdictSource.JUDGE)
    automatic = _automatic(latest, panel, policy)
    flags = _flags(latest, panel, automatic)
    humans, dispute = _humans(latest, policy)
    if humans and automatic and policy.adjudicate_human_vs_panel and humans.value != automatic.value:
        dispute = dispute or f"the raters say {humans.value}, the {automatic.origin} says {automatic.value}"

    settled = _adjudicated(latest)
    if settled:
        changed = _changed_since_adjudication(kept, latest)
        return _with(settled, flags, changed, Flag.REOPENED)
    chosen = humans or automatic or Outcome(None, Origin.NONE, _why_nothing(latest, panel, policy, view))
    return _with(chosen, flags, dispute, Flag.PROVISIONAL)


def _with(outcome: Outcome, flags: frozenset[Flag], dispute: str, mark: Flag) -> Outcome:
    """The outcome with its flags, and marked where an adjudication is open."""
    marks = flags | {mark} if dispute else flags
    return Outcome(outcome.value, outcome.origin, outcome.reason, bool(dispute), dispute, marks)


def _relevant(rows: Iterable[VerdictRow], policy: Policy, view: View) -> list[VerdictRow]:
    sources, panel = _SOURCES[view], policy.panel
    kept = [row for row in rows if row.source in sources]
    kept = [row for row in kept if row.source is not VerdictSource.JUDGE or row.name in panel]
    checkpoints = {row.checkpoint_id for row in kept}
    if len(checkpoints) > 1:
        raise ValueError(f"combine() takes the rows of one checkpoint, got {sorted(checkpoints)}")
    return kept


def _latest(rows: Iterable[VerdictRow]) -> Latest:
    """The newest row of each source and name; an adjudication replaces any earlier one, whoever made it."""
    latest: Latest = {}
    for row in rows:
        key = (row.source, "" if row.source in (VerdictSource.ADJUDICATION, VerdictSource.RULE) else row.name)
        if key not in latest or _age(row) > _age(latest[key]):
            latest[key] = row
    return latest


def _age(row: VerdictRow) -> tuple[int, str, str, str, bool]:
    """Sort key by time; the rest only makes two rows of the same number independent of their order."""
    return row.created_at, row.value, row.name, row.rationale, row.contradictory


def _adjudicated(latest: Latest) -> Outcome | None:
    row = latest.get((VerdictSource.ADJUDICATION, ""))
    if row is None:
        return None
    if not row.value.decides:
        return Outcome(None, Origin.ADJUDICATION, "the adjudicator could not judge")
    return Outcome(row.value, Origin.ADJUDICATION, f"adjudicated by {row.name}")


def _changed_since_adjudication(rows: Sequence[VerdictRow], latest: Latest) -> str:
    """Names the inputs whose value is not what the adjudicator saw; "" where none changed."""
    settled = latest[(VerdictSource.ADJUDICATION, "")]
    seen = _latest(row for row in rows if row.created_at <= settled.created_at)
    changed = sorted(
        f"{row.source} {row.name}".strip()
        for key, row in latest.items()
        if row.source is not VerdictSource.ADJUDICATION and (key not in seen or seen[key].value != row.value)
    )
    return f"changed since the adjudication: {', '.join(changed)}" if changed else ""


def _humans(latest: Latest, policy: Policy) -> tuple[Outcome | None, str]:
    """The value that enough raters agree on, and why an adjudicator is needed ("" where not)."""
    votes = _votes(latest, VerdictSource.HUMAN)
    passed, failed = votes[VerdictValue.PASS], votes[VerdictValue.FAIL]
    dispute = ""
    cannot = votes[VerdictValue.CANNOT_JUDGE]
    undecided = max(passed, failed) < policy.humans_required <= passed + failed + cannot
    if passed and failed:
        dispute = f"raters disagree: {passed} pass, {failed} fail" + (f", {cannot} cannot judge" if cannot else "")
    elif cannot >= policy.humans_required:
        dispute = f"{cannot} raters cannot judge"
    elif undecided:
        dispute = f"raters disagree: {passed} pass, {failed} fail, {cannot} cannot judge"
    enough = [value for value, n in votes.items() if value.decides and n >= policy.humans_required]
    if len(enough) != 1:
        return None, dispute
    return Outcome(enough[0], Origin.HUMANS, f"{votes[enough[0]]} raters say {enough[0]}"), dispute


def _automatic(latest: Latest, votes: Votes, policy: Policy) -> Outcome | None:
    """The rule's verdict, else the panel's majority, else None."""
    rule = latest.get((VerdictSource.RULE, ""))
    if rule is not None and rule.value.decides:
        return Outcome(rule.value, Origin.RULE, rule.rationale or f"the rule says {rule.value}")
    for value in (VerdictValue.PASS, VerdictValue.FAIL):
        if votes[value] * 2 > len(policy.panel):
            return Outcome(value, Origin.PANEL, f"{votes[value]} of {len(policy.panel)} judges say {value}")
    return None


def _votes(latest: Latest, source: VerdictSource) -> Votes:
    """How many of a source say each value, all three values present."""
    votes = dict(_NO_VOTES)
    for row in latest.values():
        if row.source is source:
            votes[row.value] += 1
    return votes


def _why_nothing(latest: Latest, votes: Votes, policy: Policy, view: View) -> str:
    if view is View.HUMAN:
        graded = sum(row.source is VerdictSource.HUMAN for row in latest.values())
        return f"no {policy.humans_required} raters agree; {graded} graded"
    silent = len(policy.panel) - sum(votes.values())
    return (
        f"no majority of {len(policy.panel)} judges: {votes[VerdictValue.PASS]} pass, "
        f"{votes[VerdictValue.FAIL]} fail, {votes[VerdictValue.CANNOT_JUDGE]} cannot judge, {silent} unscored"
    )


def _flags(latest: Latest, votes: Votes, automatic: Outcome | None) -> frozenset[Flag]:
    flags = set()
    if votes[VerdictValue.PASS] and votes[VerdictValue.FAIL]:
        flags.add(Flag.SPLIT_PANEL)
    if any(not row.value.decides for row in latest.values()):
        flags.add(Flag.CANNOT_JUDGE)
    if any(row.contradictory for row in latest.values() if row.source is VerdictSource.JUDGE):
        flags.add(Flag.CONTRADICTION)
    if any(votes.values()) and automatic is None:
        flags.add(Flag.NO_MAJORITY)
    return frozenset(flags)


_ESCALATING = frozenset({Flag.SPLIT_PANEL, Flag.CANNOT_JUDGE, Flag.CONTRADICTION, Flag.NO_MAJORITY})


def escalations(rows: Iterable[VerdictRow], policy: Policy) -> tuple[Flag, ...]:
    """Why humans should look at this checkpoint, from rules and judges only; sorted, () where they need not.

    To be asked when the judges are done: a checkpoint that nobody scored is escalated too.
    """
    outcome = combine(rows, policy, View.AI)
    reasons = outcome.flags & _ESCALATING
    return tuple(sorted(reasons if outcome.value else reasons | {Flag.NO_MAJORITY}))


def in_audit_slice(trajectory_id: str, seed: int, share: float) -> bool:
    """Whether a trajectory is in the random audit slice of the given share (0..1).

    The draw looks at the id and the seed only. It ignores verdicts and
    escalations, so that the slice stays a random sample of *all*
    trajectories, which PPI++ needs. One that is escalated too is graded
    once and counts for the slice.
    """
    if not 0 <= share <= 1:
        raise ValueError(f"share is {share}; 0 to 1 is right")
    digest = hashlib.sha256(f"audit:{seed}:{trajectory_id}".encode()).digest()
    return int.from_bytes(digest[:8]) < share * 2**64
