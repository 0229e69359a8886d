"""Start a run: check everything first, then write run and units in one transaction."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from django.db import transaction

from agents.contract import Limits
from agents.registry import method_names, resolve
from bench.grading.types import Policy
from bench.models import Dataset, Domain, Run, Split, Task, Unit
from bench.runs.endpoints import (
    OFFLINE_JUDGES,
    EndpointUnusable,
    KeyMissing,
    UnknownModel,
    check_model,
    check_reachable,
    is_offline,
    resolve_endpoint,
)
from bench.runs.manifest import build_manifest, manifest_sha256

POLICY_VERSION = "1"
MAX_UNITS = 500_000
MODEL_NAME_LENGTH = 160


class LaunchError(ValueError):
    """A run cannot be started as asked; the message names the value and the remedy.

    ``field``: the argument of ``plan_run`` that it is about, or "".
    """

    def __init__(self, message: str, field: str = "") -> None:
        super().__init__(message)
        self.field = field


@dataclass(frozen=True)
class Plan:
    """A checked wish: what launching would do."""

    dataset: Dataset
    methods: list[str]
    model: str
    judges: list[str]
    domains: list[str]
    split: str
    transfer: bool
    limit: int | None
    repeats: int
    seed: int
    max_in_flight: int
    budget_usd: float | None
    task_ids: list[int]

    @property
    def units(self) -> int:
        return len(self.task_ids) * len(self.methods) * self.repeats


def plan_run(
    *,
    dataset: str,
    methods: Sequence[str],
    model: str,
    judges: Sequence[str] = (),
    domains: Sequence[str] = (),
    split: str = "",
    transfer: bool = False,
    limit: int | None = None,
    repeats: int = 1,
    seed: int = 1,
    max_in_flight: int = 64,
    budget_usd: float | None = None,
) -> Plan:
    """Check every value. Raises LaunchError; nothing is written.

    ``transfer`` hides from every method what a person showed in the task's own domain.
    """
    found = Dataset.objects.newest(dataset)
    if found is None:
        known = sorted(set(Dataset.objects.filter(complete=True).values_list("name", flat=True)))
        have = f"there are: {', '.join(known)}" if known else "there are none yet"
        raise LaunchError(
            f"unknown dataset {dataset!r}; {have}. Make it with `manage.py build_dataset --name {dataset}`.",
            "dataset",
        )
    chosen = _methods(methods)
    _check_range("repeats", repeats, 1, 20)
    _check_range("max_in_flight", max_in_flight, 1, 1024)
    _check_range("limit", limit, 1, 10**6)
    if split and split not in Split.values:
        raise LaunchError(
            f"unknown split {split!r}; there are: {', '.join(Split.values)}; leave it out for all", "split"
        )
    _check_budget(budget_usd)
    _check_models("model", [model])
    _check_models("judges", judges)
    plan = Plan(
        found,
        chosen,
        model,
        _judges(model, judges),
        _domains(domains),
        split,
        transfer,
        limit,
        repeats,
        seed,
        max_in_flight,
        budget_usd,
        _task_ids(found, domains, split, limit),
    )
    if not plan.task_ids:
        where = f"{', '.join(domains) or 'any domain'}{f' of split {split}' if split else ''}"
        raise LaunchError(f"dataset {dataset!r} has no task in {where}", "domains")
    if plan.units > MAX_UNITS:
        raise LaunchError(f"{plan.units} units are more than {MAX_UNITS}; choose fewer tasks, methods or repeats")
    return plan


def launch_run(*, user: Any = None, **wish: Any) -> Run:
    """Write the run and all its units, or nothing, once every model answers. Arguments as of ``plan_run``.

    Raises LaunchError.
    """
    plan = plan_run(**wish)
    check_models_answer(plan)
    return start(plan, user=user)


def check_models_answer(plan: Plan) -> None:
    """Ask the endpoints of agent and judges whether they are there. Raises LaunchError."""
    for field, names in (("model", [plan.model]), ("judges", plan.judges)):
        for name in names:
            try:
                check_reachable(name)
            except (EndpointUnusable, UnknownModel, KeyMissing) as error:
                raise LaunchError(str(error), field) from error


def set_budget(run_id: int, budget_usd: float | None) -> None:
    """A new limit of what the run may spend, None for no limit. It can then be resumed where the old one stopped it.

    Raises LaunchError for what is no sum, and for one at or below what is spent.
    """
    _check_budget(budget_usd)
    runs = Run.objects.filter(pk=run_id)
    if budget_usd is not None:
        runs = runs.filter(spent_usd__lt=budget_usd)
    if not runs.update(budget_usd=budget_usd, budget_hit=False):
        spent = Run.objects.values_list("spent_usd", flat=True).get(pk=run_id)
        raise LaunchError(
            f"run {run_id} has spent {spent:.4f} USD already; a budget of {budget_usd} must be above that", "budget_usd"
        )


def manifest_of(plan: Plan) -> tuple[dict[str, Any], str]:
    """The manifest that a run of this plan would have, and its sha256. Raises LaunchError."""
    try:
        endpoint = resolve_endpoint(plan.model)
        judges = [resolve_endpoint(name) for name in plan.judges]
    except (UnknownModel, KeyMissing) as error:
        raise LaunchError(str(error)) from error
    manifest = build_manifest(
        dataset=plan.dataset,
        methods=plan.methods,
        endpoint=endpoint,
        judges=judges,
        domains=plan.domains,
        split=plan.split,
        transfer=plan.transfer,
        limit=plan.limit,
        repeats=plan.repeats,
        seed=plan.seed,
        limits=Limits(),
        policy=Policy(version=POLICY_VERSION, panel=tuple(plan.judges)),
    )
    return manifest, manifest_sha256(manifest)


def start(plan: Plan, *, user: Any = None) -> Run:
    """Write a checked plan as a run with its units, and send the first of them to the queue."""
    manifest, sha256 = manifest_of(plan)
    simulated = any(model["simulated"] for model in [manifest["model"], *manifest["judges"]])
    with transaction.atomic():
        run = Run.objects.create(
            dataset=plan.dataset,
            manifest=manifest,
            manifest_sha256=sha256,
            simulated=simulated,
            model=plan.model,
            max_in_flight=plan.max_in_flight,
            budget_usd=plan.budget_usd,
            created_by=user,
        )
        Unit.objects.bulk_create(_units(run, plan), batch_size=2000)
        transaction.on_commit(lambda: _enqueue(run.pk))
    return run


def _enqueue(run_id: int) -> None:
    from bench.runs.tasks import dispatch

    dispatch(run_id)


def _units(run: Run, plan: Plan) -> Iterable[Unit]:
    """Task by task, so that a run which is stopped half-way has the same tasks for every method."""
    for repeat in range(plan.repeats):
        for task_id in plan.task_ids:
            for method in plan.methods:
                yield Unit(run=run, task_id=task_id, method=method, repeat=repeat)


def _check_range(name: str, value: int | None, low: int, high: int) -> None:
    if value is not None and not low <= value <= high:
        raise LaunchError(f"{name} is {value}; it must be from {low} to {high}", name)


def _check_budget(budget_usd: float | None) -> None:
    if budget_usd is not None and not (budget_usd > 0 and math.isfinite(budget_usd)):
        raise LaunchError(f"budget_usd is {budget_usd}; it must be above 0, or left out for no budget", "budget_usd")


def _check_models(field: str, names: Iterable[str]) -> None:
    for name in names:
        if len(name) > MODEL_NAME_LENGTH:
            raise LaunchError(f"model name {name[:40]!r}... is longer than {MODEL_NAME_LENGTH} characters", field)
        try:
            check_model(name)
        except (UnknownModel, KeyMissing) as error:
            raise LaunchError(str(error), field) from error


def _methods(methods: Sequence[str]) -> list[str]:
    chosen = list(dict.fromkeys(method.strip() for method in methods if method.strip()))
    if not chosen:
        raise LaunchError(f"no method is named; allowed are {', '.join(method_names())}", "methods")
    for method in chosen:
        try:
            resolve(method)
        except ValueError as error:
            raise LaunchError(str(error), "methods") from error
    return chosen


def _domains(domains: Sequence[str]) -> list[str]:
    known = list(Domain.objects.values_list("slug", flat=True))
    for slug in domains:
        if slug not in known:
            raise LaunchError(f"unknown domain {slug!r}; there are: {', '.join(known)}", "domains")
    return [slug for slug in known if slug in domains] or known


def _judges(model: str, judges: Sequence[str]) -> list[str]:
    if judges:
        return list(dict.fromkeys(judges))
    if is_offline(model):
        return list(OFFLINE_JUDGES)
    raise LaunchError(
        f"model {model!r} is a real endpoint, so the judges must be named: --judges a,b,c "
        "(three endpoints, of other model families than the agent where you have them)",
        "judges",
    )


def _task_ids(dataset: Dataset, domains: Sequence[str], split: str, limit: int | None) -> list[int]:
    """Tasks in an order that mixes personas and domains, so that a limit takes a fair part of each."""
    tasks = Task.objects.of_dataset(dataset.pk)
    if domains:
        tasks = tasks.filter(scenario__domain__slug__in=domains)
    if split:
        tasks = tasks.filter(persona__split=split)
    rows = list(tasks.order_by("persona__slug", "slug").values_list("pk", "persona_id"))
    turn: dict[int, int] = {}
    keyed = []
    for order, (pk, persona) in enumerate(rows):
        turn[persona] = turn.get(persona, 0) + 1
        keyed.append((turn[persona], order, pk))
    return [pk for _, _, pk in sorted(keyed)][:limit]
