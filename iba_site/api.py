"""The HTTP API. The same access helpers as the pages; every error is ``{"error": sentence}``."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated, Any

from django.contrib.auth import authenticate
from django.contrib.auth.models import User
from django.core.exceptions import PermissionDenied
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404
from ninja import Field, NinjaAPI, Status
from ninja.errors import AuthenticationError, HttpError, Throttled, ValidationError
from ninja.openapi.schema import OpenAPISchema
from ninja.throttling import AnonRateThrottle

from agents.contract import Outage
from agents.registry import resolve
from bench.access import may_launch, may_see_results
from bench.models import Dataset, Run, Trajectory
from bench.results.own import checkpoints_of
from bench.results.report import results_of
from bench.runs.claim import cancel_run, pause_run, resume_run, retry_failed
from bench.runs.fence import GoldWasRead
from bench.runs.launch import LaunchError, launch_run, set_budget
from bench.runs.progress import progress_of
from bench.runs.spec import RunSpec
from bench.runs.tasks import dispatch
from bench.tokens import BearerToken, Scope, make_token, require_scope, why_no_gold
from iba_site.api_external import router as external
from iba_site.hashing import Busy
from iba_site.schemas_results import ResultsOut, TrajectoryOut
from iba_site.schemas_runs import (
    Credentials,
    DatasetOut,
    ErrorOut,
    LaunchIn,
    Page,
    ProgressOut,
    RunChange,
    RunOut,
    Text,
    Token,
)


class Api(NinjaAPI):
    """Names in its document the one shape of all errors."""

    def get_openapi_schema(self, **options: Any) -> OpenAPISchema:
        document = super().get_openapi_schema(**options)
        document["components"]["schemas"]["ErrorOut"] = ErrorOut.model_json_schema()
        content = {"application/json": {"schema": {"$ref": "#/components/schemas/ErrorOut"}}}
        for path in document["paths"].values():
            for operation in path.values():
                operation["responses"]["default"] = {"description": ERRORS, "content": content}
        return document


ERRORS = (
    "401: no valid token. 403: your role or the token's scopes do not allow it. 404: nothing there. 409: not now. "
    "413: too much. 422: a value does not fit. 429, 503: try again after Retry-After."
)
api = Api(title="IBA-Bench", version="1", auth=BearerToken(), urls_namespace="api")
api.add_router("/external", external)

PAGE = 100


@api.exception_handler(LaunchError)
def _launch_error(request: HttpRequest, error: LaunchError) -> HttpResponse:
    return api.create_response(request, {"error": str(error)}, status=422)


@api.exception_handler(GoldWasRead)
def _gold_was_read(request: HttpRequest, error: GoldWasRead) -> HttpResponse:
    return api.create_response(request, {"error": str(error)}, status=409)


@api.exception_handler(Outage)
def _away(request: HttpRequest, error: Outage) -> HttpResponse:
    response = api.create_response(request, {"error": f"{error} Try again in a moment; nothing was lost."}, status=503)
    response["Retry-After"] = "5"
    return response


@api.exception_handler(ValidationError)
def _invalid(request: HttpRequest, error: ValidationError) -> HttpResponse:
    places = [f"{_place(fault['loc'])}: {fault['msg'].removeprefix('Value error, ')}" for fault in error.errors]
    return api.create_response(request, {"error": "; ".join(places)}, status=422)


def _place(loc: Sequence[str | int]) -> str:
    """Where a fault is, as its sender knows it: without the part of the request and the name of our parameter."""
    inner = loc[2:] if loc[0] == "body" else loc[1:]
    return ".".join(map(str, inner)) or "body"


@api.exception_handler(AuthenticationError)
def _unauthenticated(request: HttpRequest, error: AuthenticationError) -> HttpResponse:
    text = "a valid token is needed: POST /api/token, then send Authorization: Bearer <token>"
    return api.create_response(request, {"error": text}, status=401)


@api.exception_handler(PermissionDenied)
def _denied(request: HttpRequest, error: PermissionDenied) -> HttpResponse:
    return api.create_response(request, {"error": str(error)}, status=403)


@api.exception_handler(Busy)
def _busy(request: HttpRequest, error: Busy) -> HttpResponse:
    return api.create_response(request, {"error": str(error)}, status=503)


@api.exception_handler(Http404)
def _missing(request: HttpRequest, error: Http404) -> HttpResponse:
    return api.create_response(request, {"error": "there is nothing at this address"}, status=404)


@api.exception_handler(HttpError)
def _http_error(request: HttpRequest, error: HttpError) -> HttpResponse:
    response = api.create_response(request, {"error": str(error)}, status=error.status_code)
    if isinstance(error, Throttled) and error.wait:
        response["Retry-After"] = str(error.wait)
    return response


def _results_only(request: HttpRequest) -> None:
    if not may_see_results(request.user):
        raise PermissionDenied("your role does not allow results")
    require_scope(request, Scope.READ)


def _launchers_only(request: HttpRequest) -> None:
    if not may_launch(request.user):
        raise PermissionDenied("your role does not allow runs to be started or changed")
    require_scope(request, Scope.LAUNCH)


@api.post("/token", auth=None, response=Token, throttle=[AnonRateThrottle("10/m")])
def sign_in(request: HttpRequest, credentials: Credentials) -> dict[str, str]:
    """A token for a username and password. It is shown once."""
    user = authenticate(request, username=credentials.username, password=credentials.password)
    if user is None:
        raise HttpError(401, "username and password do not belong together")
    if not isinstance(user, User):
        raise HttpError(401, "this user cannot have a token")
    return {"token": make_token(user=user, name=credentials.name, scopes=credentials.scopes)}


@api.get("/datasets", response=list[DatasetOut])
def list_datasets(request: HttpRequest) -> Any:
    """All versions that are complete."""
    return Dataset.objects.filter(complete=True)


@api.get("/datasets/{name}", response=DatasetOut)
def newest_dataset(request: HttpRequest, name: Text) -> Dataset:
    """The newest complete version of one."""
    found = Dataset.objects.newest(name)
    if found is None:
        raise Http404
    return found


@api.get("/runs", response=list[RunOut])
def list_runs(request: HttpRequest) -> Any:
    """The newest hundred."""
    _results_only(request)
    return [_run(run) for run in Run.objects.select_related("dataset")[:PAGE]]


@api.post("/runs", response={201: RunOut})
def launch(request: HttpRequest, wish: LaunchIn) -> Any:
    """Start a run. 422 with a sentence where a value does not fit; nothing is written then."""
    _launchers_only(request)
    return Status(201, _run(launch_run(RunSpec(**wish.dict()), user=request.user)))


@api.get("/runs/{run_id}", response=ProgressOut)
def show_run(request: HttpRequest, run_id: int) -> dict[str, Any]:
    """A run and how far it is."""
    _results_only(request)
    run = _get_run(run_id)
    progress = progress_of(run)
    names = ("planned", "done", "scored", "running", "queued", "failed", "cancelled", "rate_per_s", "waiting", "errors")
    return {"run": _run(run), **{name: getattr(progress, name) for name in names}}


@api.patch("/runs/{run_id}", response=RunOut)
def change_budget(request: HttpRequest, run_id: int, change: RunChange) -> dict[str, Any]:
    """Raise, lower or lift (null) the budget. 422 for one at or below what is spent. A paused run stays paused."""
    _launchers_only(request)
    run = _get_run(run_id)
    set_budget(run.pk, change.budget_usd)
    return _run(_get_run(run_id))


@api.get("/runs/{run_id}/results", response=ResultsOut, exclude_unset=True)
def show_results(
    request: HttpRequest, run_id: int, view: str = "combined", split: str = "", action: str = ""
) -> dict[str, Any]:
    """Cells and paired differences. ``view``: combined, ai or human; ``split``: dev, test or empty; ``action``:
    generate, call_api or empty."""
    _results_only(request)
    run = _get_run(run_id)
    try:
        found = results_of(run, view, split, action)
    except ValueError as error:
        raise HttpError(422, str(error)) from error
    marks = {"simulated": run.simulated, "gold_seen": run.gold_seen}
    marks |= {"even_if_invalid": run.even_if_invalid}
    validity = run.dataset.validity
    return {
        "run_id": run.pk, **marks, "dataset_validity": validity, "manifest_sha256": run.manifest_sha256, **found
    }  # fmt: skip


@api.get("/runs/{run_id}/trajectories", response=Page)
def list_trajectories(
    request: HttpRequest, run_id: int, offset: Annotated[int, Field(ge=0, le=10**9)] = 0
) -> dict[str, Any]:
    """A hundred trajectories from ``offset`` on, in order of their ids."""
    _results_only(request)
    found = Trajectory.objects.filter(unit__run=_get_run(run_id)).select_related("unit__task").order_by("pk")
    total = found.count()
    following = offset + PAGE
    return {
        "items": list(found[offset:following]),
        "total": total,
        "next_offset": following if following < total else None,
    }


# After the other addresses below a run: the first that matches an address answers for all its methods.
@api.post("/runs/{run_id}/{action}", response=RunOut)
def change_run(request: HttpRequest, run_id: int, action: str) -> dict[str, Any]:
    """``action``: pause, resume, cancel or retry (the failed units)."""
    _launchers_only(request)
    run = _get_run(run_id)
    actions = {"pause": pause_run, "resume": resume_run, "cancel": cancel_run, "retry": retry_failed}
    if action not in actions:
        raise HttpError(422, f"unknown action {action!r}; allowed: {', '.join(actions)}")
    actions[action](run.pk)
    dispatch(run.pk)
    return _run(_get_run(run_id))


@api.get("/trajectories/{trajectory_id}", response=TrajectoryOut, exclude_unset=True)
def show_trajectory(request: HttpRequest, trajectory_id: int) -> dict[str, Any]:
    """The whole course; with its scores by checkpoint for a token of scope ``gold``.

    The course of a method that is given the gold events tells them, so it is withheld as the scores are.
    """
    _results_only(request)
    found = get_object_or_404(Trajectory.objects.select_related("unit__task", "unit__run"), pk=trajectory_id)
    withheld = why_no_gold(request, found.unit.run.dataset_id)
    hidden = bool(withheld) and resolve(found.unit.method).uses_gold
    return {
        "id": found.pk,
        "run": found.unit.run_id,
        "simulated": found.unit.run.simulated,
        "task": found.unit.task.slug,
        "method": found.unit.method,
        "request": found.unit.task.request,
        "trajectory": None if hidden else found.data,
        "committed": None if hidden else found.committed,
        "gold_withheld": withheld,
        "scores": None if withheld else _scores(found),
    }


def _scores(trajectory: Trajectory) -> list[dict[str, Any]]:
    return [{"checkpoint": one["text"], "gap": one["lost_at"], **one} for one in checkpoints_of(trajectory)]


def _get_run(run_id: int) -> Run:
    return get_object_or_404(Run.objects.select_related("dataset"), pk=run_id)


def _run(run: Run) -> dict[str, Any]:
    names = (
        "status",
        "model",
        "simulated",
        "gold_seen",
        "even_if_invalid",
        "manifest_sha256",
        "created_at",
        "finished_at",
        "spent_usd",
        "budget_usd",
    )
    return {"id": run.pk, "dataset": str(run.dataset), **{name: getattr(run, name) for name in names}}
