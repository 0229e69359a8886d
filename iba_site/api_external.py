"""The part of the API that an agent elsewhere talks to. See docs/external_agents.md."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict
from typing import Any

from django.core.exceptions import PermissionDenied
from django.db import transaction
from django.http import Http404, HttpRequest
from django.shortcuts import get_object_or_404
from ninja import Router, Status
from ninja.errors import HttpError

from agents.contract import JSON, Usage
from agents.registry import EXTERNAL
from bench.access import may_launch
from bench.models import Run, RunStatus, Unit
from bench.results.own import OwnResults, own_results
from bench.runs.external import (
    ExternalError,
    call_tool,
    describe,
    held_unit,
    is_external,
    next_unit,
    progress,
    read_step,
    search,
    submit,
)
from bench.runs.fence import GoldWasRead
from bench.runs.launch import launch_run
from bench.runs.spec import RunSpec
from bench.runs.tasks import dispatch
from bench.tokens import Scope, require_scope, token_of, why_no_gold
from iba_site.schemas import (
    ExternalProgressOut,
    ExternalRunIn,
    ExternalRunOut,
    FoundOut,
    NextOut,
    SearchIn,
    StoredOut,
    SubmissionIn,
    ToolIn,
    ToolOut,
)
from iba_site.schemas_results import OwnResultsOut

router = Router(tags=["external agents"])


def _client(request: HttpRequest) -> str:
    """Who holds a unit: the token, so that several of one user can work side by side."""
    return f"external:{token_of(request).pk}"


def _agents_only(request: HttpRequest) -> None:
    if not may_launch(request.user):
        raise PermissionDenied("your role does not allow runs to be started or changed")
    require_scope(request, Scope.AGENT)


@router.post("/runs", response={201: ExternalRunOut})
def open_run(request: HttpRequest, wish: ExternalRunIn) -> Any:
    """Open a run that your agent will fill. Its method is called ``external-<name>``."""
    _agents_only(request)
    run = launch_run(
        RunSpec(
            dataset=wish.dataset,
            methods=[f"{EXTERNAL}{wish.name}"],
            model=wish.model,
            judges=wish.judges,
            domains=wish.domains,
            limit=wish.limit,
            even_if_invalid=wish.even_if_invalid,
        ),
        user=request.user,
    )
    method = run.manifest["methods"][0]
    marks = {"simulated": run.simulated, "gold_seen": run.gold_seen}
    return Status(201, {"run": run.pk, "units": run.units.count(), "method": method, **marks})


@router.get("/runs/{run_id}", response=ExternalProgressOut)
def show_progress(request: HttpRequest, run_id: int) -> JSON:
    """How far the run is, what this token holds and what is left."""
    return progress(_external_run(request, run_id), _client(request))


@router.post("/runs/{run_id}/next", response=NextOut)
def fetch_next(request: HttpRequest, run_id: int) -> JSON:
    """The next task, or the one that you hold already. ``{"unit": null}`` once none is left.

    409 while the run is paused, after it was cancelled, and where somebody who takes part has read its gold.
    """
    run = _external_run(request, run_id)
    with _explained():
        unit = next_unit(run, _client(request), token_of(request).user)
    return {"unit": None} if unit is None else describe(_held(request, unit.pk))


@router.post("/units/{unit_id}/search", response=FoundOut)
def search_history(request: HttpRequest, unit_id: int, wish: SearchIn) -> JSON:
    """Search the person's history up to the task's moment. 409 once the budget is used up."""
    unit = _held(request, unit_id)
    with _explained():
        return asdict(search(unit, wish.query, wish.k, wish.engine))


@router.post("/units/{unit_id}/tools", response=ToolOut)
def use_tool(request: HttpRequest, unit_id: int, wish: ToolIn) -> JSON:
    """Call a tool of the task. Look-ups match without case, article and plural; the committing call acts."""
    unit = _held(request, unit_id)
    with _explained():
        result, remaining = call_tool(unit, wish.name, wish.arguments)
    commits = any(tool["commits"] and tool["name"] == wish.name for tool in unit.task.tools)
    answer = {"ok": result.ok, "accepted": result.accepted if commits else None, **result.content}
    return {**answer, "remaining": asdict(remaining)}


@router.post("/units/{unit_id}/submit", response=StoredOut)
def hand_in(request: HttpRequest, unit_id: int, work: SubmissionIn) -> JSON:
    """Store the trajectory, once. It is graded like any other. 409 where it was submitted already."""
    unit = _held(request, unit_id)
    usage = Usage(work.llm_calls, work.tokens_in, work.tokens_out, work.cost_usd)
    claimed = [read_step(step.dict()) for step in work.steps]
    with _explained():
        stored = submit(unit, _client(request), text=work.text, claimed=claimed, usage=usage, gave_up=work.gave_up)
    transaction.on_commit(lambda: dispatch(unit.run_id))
    return asdict(stored)


@router.get("/runs/{run_id}/results", response=OwnResultsOut)
def show_own_results(request: HttpRequest, run_id: int) -> OwnResults:
    """What your run amounts to, once it has ended. A token of scope ``gold`` also gets every checkpoint."""
    run = _external_run(request, run_id)
    if run.created_by_id != token_of(request).user_id:
        raise Http404
    if run.status not in (RunStatus.DONE, RunStatus.CANCELLED):
        raise HttpError(409, f"run {run_id} is {run.status}; its results are shown once it has ended")
    return own_results(run, why_no_gold(request, run.dataset_id))


def _external_run(request: HttpRequest, run_id: int) -> Run:
    _agents_only(request)
    run = get_object_or_404(Run.objects.select_related("dataset"), pk=run_id)
    if not is_external(run):
        raise HttpError(422, f"run {run_id} is not one for external agents")
    return run


def _held(request: HttpRequest, unit_id: int) -> Unit:
    _agents_only(request)
    with _explained():
        return held_unit(unit_id, _client(request))


@contextmanager
def _explained() -> Iterator[None]:
    """Turns what the unit does not allow into a 409 with the sentence."""
    try:
        yield
    except (ExternalError, GoldWasRead) as error:
        raise HttpError(409, str(error)) from error
