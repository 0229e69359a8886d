"""The work on one unit: let the agent act, then let rules and judges grade. Safe to start twice, and to be killed."""

from __future__ import annotations

import time
from functools import partial

from django.db import transaction
from django.db.models import Count, Q
from django.utils import timezone

from agents.contract import BudgetExceeded, Cancelled, EndpointAway, Limits, Termination
from agents.contract import Trajectory as Course
from agents.contract.serialise import to_json
from agents.model.client import OpenAILLM
from agents.registry import resolve
from agents.runner import run_agent
from bench.grading.combination import in_audit_slice
from bench.grading.gold import gold_measures
from bench.grading.rules import Call
from bench.grading.settled import settled_share
from bench.grading.store import append_verdicts, first_scores, rule_verdicts, score_trajectories
from bench.models import CheckpointScore, Run, Trajectory, Unit, UnitStatus, Verdict
from bench.runs.calls import DatabaseStore, OneBuyer, StopSign, limiter
from bench.runs.claim import claim, give_back, pause_run, stop
from bench.runs.endpoints import KeyMissing, OfflineStopped, UnknownModel, resolve_endpoint
from bench.runs.inputs import search_for, task_input
from bench.runs.judging import judge_trajectory
from bench.runs.outages import check_endpoint
from bench.runs.world import world_of

ROUND = 1000  # more than the repeats that a run may have
JUDGE_LIMITS = Limits(model_calls=3, max_tokens=1500, deadline_s=600)


def act(unit_id: int, worker: str) -> bool:
    """Claim a queued unit, run its agent, store the trajectory with the rules' verdicts. True where judges may be due.

    Raises Outage, and the database's errors; the unit is then still claimed.

    They may where the unit is no longer queued: a worker that died had acted, and its message came again.
    """
    if not claim(unit_id, UnitStatus.RUNNING, worker):
        return True
    unit = Unit.objects.select_related("run", "task__scenario__domain").get(pk=unit_id)
    started = time.monotonic()
    try:
        course, committed = _run(unit)
    except UnknownModel as error:
        _fail(unit, worker, UnitStatus.RUNNING, str(error))
        return False
    if course.termination is Termination.BUDGET:
        give_back(unit_id, UnitStatus.RUNNING, worker)
        pause_run(unit.run_id, budget_hit=True)
    elif course.termination is Termination.CANCELLED:
        stop(unit_id, UnitStatus.RUNNING, worker)
    elif course.termination.is_infrastructure:
        _fail(unit, worker, UnitStatus.RUNNING, course.error)
    else:
        return store_course(unit, worker, course, committed, time.monotonic() - started)
    return False


def act_and_judge(unit_id: int, worker: str) -> None:
    """All the work on a queued unit. Its judges follow without another message."""
    if act(unit_id, worker):
        judge(unit_id, worker)


def judge(unit_id: int, worker: str) -> None:
    """Claim an acted unit and have the panel grade its text. A judge that fails leaves its verdicts unscored."""
    if not claim(unit_id, UnitStatus.JUDGING, worker):
        return
    unit = Unit.objects.select_related("run", "task__scenario", "trajectory").get(pk=unit_id)
    try:
        judge_trajectory(unit.trajectory, unit.run.manifest["policy"]["panel"], partial(_judge_llm, unit))
    except BudgetExceeded:
        give_back(unit_id, UnitStatus.JUDGING, worker)
        pause_run(unit.run_id, budget_hit=True)
        return
    except Cancelled:
        stop(unit_id, UnitStatus.JUDGING, worker)
        return
    score_trajectories([unit.trajectory.pk])
    _end(unit, worker, UnitStatus.JUDGING, UnitStatus.SCORED, "")


def _llm(unit: Unit, model: str, limits: Limits, asked_before: int = 0) -> OpenAILLM:
    """``asked_before``: rounds of judging so far; each round buys its own replies, as a repeat does.

    Raises UnknownModel, and EndpointAway where nobody can be asked now.
    """
    check_endpoint(model)
    try:
        endpoint = resolve_endpoint(model)
    except (KeyMissing, OfflineStopped) as error:
        raise EndpointAway(model, str(error)) from error
    return OpenAILLM(
        endpoint,
        store=DatabaseStore(run_id=unit.run_id, unit_id=unit.pk, endpoint=endpoint.slug, name=model),
        limiter=limiter(),
        repeat=unit.repeat + ROUND * asked_before,
        limits=limits,
        should_stop=StopSign(unit.run_id),
        one_buyer=OneBuyer(),
    )


def _run(unit: Unit) -> tuple[Course, list[Call]]:
    limits = Limits(**unit.run.manifest["limits"])
    tools = world_of(unit.task)
    spec = resolve(unit.method)
    course = run_agent(
        spec,
        task_input(unit.task),
        llm=_llm(unit, unit.run.model, limits),
        search=search_for(spec, unit.task, transfer=unit.run.manifest.get("transfer", False)),
        call_tool=tools,
        limits=limits,
    )
    return course, tools.committed


def store_course(unit: Unit, worker: str, course: Course, committed: list[Call], wall_s: float) -> bool:
    """Trajectory, rule verdicts, scores and the unit's new status, all or none. True where it now waits for judges."""
    recall, over_applied = gold_measures(unit.task_id, course)
    trajectory = Trajectory(
        unit=unit,
        termination=course.termination.value,
        data=to_json(course),
        committed=committed,
        evidence_recall=recall,
        settled=settled_share(unit.task, course.evidence),
        over_applied=over_applied,
        llm_calls=course.usage.calls,
        tokens_in=course.usage.tokens_in,
        tokens_out=course.usage.tokens_out,
        cost_usd=course.usage.cost_usd,
        wall_s=round(wall_s, 3),
        audit=_in_audit(unit),
    )
    verdicts = rule_verdicts(trajectory)
    undecided = unit.task.scenario.action_kind == "generate" or any(v.value == "cannot_judge" for v in verdicts)
    needs_judges = undecided and course.action is not None
    scores = [] if needs_judges else first_scores(trajectory, verdicts, course)
    # Short, and computed before: every unit of the run waits here for the run's row, which counts its changes.
    with transaction.atomic():
        mine = Unit.objects.select_for_update().filter(pk=unit.pk, status=UnitStatus.RUNNING, claimed_by=worker)
        if not mine.exists():
            return False  # the lease ran out and another worker has it; its replay costs nothing
        trajectory.save()
        append_verdicts(verdicts)
        CheckpointScore.objects.bulk_create(scores)
        if needs_judges:
            mine.update(status=UnitStatus.ACTED, claimed_by="", lease_until=None, attempts=0, waits=0)
        else:
            mine.update(status=UnitStatus.SCORED, lease_until=None, finished_at=timezone.now())
    return needs_judges


def _in_audit(unit: Unit) -> bool:
    """Drawn by what the unit is, not by its row number, so that the same run draws the same slice again."""
    manifest = unit.run.manifest
    identity = f"{unit.task.slug}/{unit.method}/{unit.repeat}"
    return in_audit_slice(identity, manifest["seed"], manifest["policy"]["audit_share"])


def _end(unit: Unit, worker: str, held: UnitStatus, status: UnitStatus, error: str) -> None:
    Unit.objects.filter(pk=unit.pk, status=held, claimed_by=worker).update(
        status=status, error=error, lease_until=None, finished_at=timezone.now()
    )


def _fail(unit: Unit, worker: str, held: UnitStatus, error: str) -> None:
    _end(unit, worker, held, UnitStatus.FAILED, error)


def _rounds(trajectory: Trajectory, judge: str) -> int:
    """How often this judge was asked about the trajectory, usable replies or not."""
    rows = Verdict.objects.filter(trajectory=trajectory, source="judge", name=judge).order_by()
    counts = rows.values_list("checkpoint").annotate(asked=Count("pk")).values_list("asked", flat=True)
    return max(counts, default=0)


def _judge_llm(unit: Unit, name: str) -> OpenAILLM:
    """A judge that was asked before is asked anew: no reply that is in the verdicts already is replayed."""
    return _llm(unit, name, limits=JUDGE_LIMITS, asked_before=_rounds(unit.trajectory, name))


def rejudge(run: Run, judges: list[str], *, missing: bool = False) -> int:
    """Ask the judges about every stored text, and every call that a rule cannot judge. The agent is never called.

    Stored replies are not replayed: a judge may answer differently, which is its test-retest agreement. With
    ``missing`` only about checkpoints that the judge gave no usable verdict on. Returns the trajectories graded.
    """
    unread = Verdict.objects.filter(source="rule", value="cannot_judge").values("trajectory__unit")
    units = Unit.objects.filter(run=run, trajectory__isnull=False)
    units = units.filter(Q(task__scenario__action_kind="generate") | Q(pk__in=unread))
    graded = 0
    for unit in units.select_related("run", "task__scenario", "trajectory").iterator(chunk_size=200):
        if judge_trajectory(unit.trajectory, judges, partial(_judge_llm, unit), again=not missing):
            score_trajectories([unit.trajectory.pk])
            graded += 1
    return graded
