"""The part of the API that an agent elsewhere talks to."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict
from typing import Annotated, Any

from django.core.exceptions import PermissionDenied
from django.db import transaction
from django.http import HttpRequest
from django.shortcuts import get_object_or_404
from ninja import Field, Router, Schema, Status
from ninja.errors import HttpError

from agents.contract import Engine, Usage
from agents.registry import EXTERNAL
from bench.access import may_launch
from bench.models import Run, Unit
from bench.runs.external import ExternalError, as_json, call_tool, describe, held_unit, next_unit, search, submit
from bench.runs.inputs import vocabulary
from bench.runs.launch import launch_run
from bench.runs.spec import RunSpec
from bench.runs.tasks import dispatch

router = Router(tags=["external agents"])


class ExternalRunIn(Schema):
    name: Annotated[str, Field(pattern=r"^[a-z0-9_]{2,28}$")]
    dataset: str
    model: str = "offline"  # whose judges grade the texts
    judges: list[str] = []
    domains: list[str] = []
    limit: int | None = None


class SearchIn(Schema):
    query: Annotated[str, Field(max_length=2000)]
    k: Annotated[int, Field(ge=1, le=40)] = 10
    engine: Engine = Engine.HYBRID


class ToolIn(Schema):
    name: str
    arguments: dict[str, Any]


class StepIn(Schema):
    stage: Annotated[str, Field(max_length=40)]
    kind: Annotated[str, Field(max_length=20)]
    summary: Annotated[str, Field(max_length=2000)]
    data: dict[str, Any] = {}


class SubmissionIn(Schema):
    text: str = ""
    steps: list[StepIn] = []
    llm_calls: Annotated[int, Field(ge=0)] = 0
    tokens_in: Annotated[int, Field(ge=0)] = 0
    tokens_out: Annotated[int, Field(ge=0)] = 0
    cost_usd: Annotated[float, Field(ge=0)] = 0.0
    gave_up: Annotated[str, Field(max_length=2000)] = ""


def _client(request: HttpRequest) -> str:
    return f"external:{request.user.pk}"


def _launchers_only(request: HttpRequest) -> None:
    if not may_launch(request.user):
        raise PermissionDenied("your role does not allow runs to be started or changed")


@router.post("/runs", response={201: dict})
def open_run(request: HttpRequest, wish: ExternalRunIn) -> Any:
    """Open a run that your agent will fill. Its method is called ``external-<name>``."""
    _launchers_only(request)
    run = launch_run(
        RunSpec(
            dataset=wish.dataset,
            methods=[f"{EXTERNAL}{wish.name}"],
            model=wish.model,
            judges=wish.judges,
            domains=wish.domains,
            limit=wish.limit,
        ),
        user=request.user,
    )
    return Status(201, {"run": run.pk, "units": run.units.count()})


@router.get("/runs/{run_id}/vocabulary")
def read_vocabulary(request: HttpRequest, run_id: int) -> list[dict[str, Any]]:
    """The public vocabulary of preference dimensions: questions and options, nobody's answers."""
    _launchers_only(request)
    run = get_object_or_404(Run.objects.select_related("dataset"), pk=run_id)
    return [asdict(topic) for topic in vocabulary(run.dataset.data_version)]


@router.post("/runs/{run_id}/next", response=dict)
def fetch_next(request: HttpRequest, run_id: int) -> dict[str, Any]:
    """The next task, or the one that you hold already. ``{"unit": null}`` once none is left."""
    _launchers_only(request)
    run = get_object_or_404(Run, pk=run_id)
    if not any(method.startswith(EXTERNAL) for method in run.manifest["methods"]):
        raise HttpError(422, f"run {run_id} is not one for external agents")
    unit = next_unit(run, _client(request))
    return {"unit": None} if unit is None else describe(_held(request, unit.pk))


@router.post("/units/{unit_id}/search")
def search_history(request: HttpRequest, unit_id: int, wish: SearchIn) -> dict[str, Any]:
    unit = _held(request, unit_id)
    with _explained():
        return {"events": search(unit, wish.query, wish.k, wish.engine)}


@router.post("/units/{unit_id}/tools")
def use_tool(request: HttpRequest, unit_id: int, wish: ToolIn) -> dict[str, Any]:
    unit = _held(request, unit_id)
    with _explained():
        return as_json(call_tool(unit, wish.name, wish.arguments))


@router.post("/units/{unit_id}/submit")
def hand_in(request: HttpRequest, unit_id: int, work: SubmissionIn) -> dict[str, Any]:
    """Store the trajectory. It is graded like any other."""
    unit = _held(request, unit_id)
    usage = Usage(work.llm_calls, work.tokens_in, work.tokens_out, work.cost_usd)
    steps = [step.dict() for step in work.steps]
    with _explained():
        submit(unit, _client(request), text=work.text, steps=steps, usage=usage, gave_up=work.gave_up)
    transaction.on_commit(lambda: dispatch(unit.run_id))
    return {"stored": True}


def _held(request: HttpRequest, unit_id: int) -> Unit:
    _launchers_only(request)
    with _explained():
        return held_unit(unit_id, _client(request))


@contextmanager
def _explained() -> Iterator[None]:
    """Turns what the unit does not allow into a 409 with the sentence."""
    try:
        yield
    except ExternalError as error:
        raise HttpError(409, str(error)) from error
