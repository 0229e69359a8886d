"""Start a run: check everything first, then write run and units in one transaction."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Any

from django.contrib.auth.models import AnonymousUser, User
from django.db import transaction

from agents.contract import Limits
from agents.model.endpoints import Endpoint as ModelEndpoint
from agents.registry import EXTERNAL, method_names, resolve
from bench.grading.types import Policy
from bench.models import Dataset, Domain, Run, Split, Task, Unit
from bench.reader.faults import PANEL
from bench.runs.endpoints import (
    EndpointUnusable,
    KeyMissing,
    UnknownModel,
    check_model,
    is_offline,
    resolve_endpoint,
)
from bench.runs.fence import has_read, hold_fence
from bench.runs.manifest import build_manifest, manifest_sha256
from bench.runs.reach import check_reachable
from bench.runs.spec import OPTIONS, Kind, Option, RunSpec
from bench.texts import unstorable

POLICY_VERSION = "1"
MAX_UNITS = 500_000
MODEL_NAME_LENGTH = 160


class LaunchError(ValueError):
    """A run cannot be started as asked; the message names the value and the remedy.

    ``field``: the field of ``RunSpec`` that it is about, or "".
    """

    def __init__(self, message: str, field: str = "") -> None:
        super().__init__(message)
        self.field = field


@dataclass(frozen=True)
class Plan:
    """A checked wish: what launching would do. In ``spec`` every name is spelt out and stands once."""

    spec: RunSpec
    dataset: Dataset
    task_ids: Sequence[int]

    @property
    def units(self) -> int:
        return len(self.task_ids) * len(self.spec.methods) * self.spec.repeats


def plan_run(wish: RunSpec) -> Plan:
    """Check every value. Raises LaunchError; nothing is written.

    ``transfer`` hides from every method what a person showed in the task's own domain.
    """
    dataset = _dataset(wish.dataset)
    _check_valid(dataset, wish.even_if_invalid)
    methods = _methods(wish.methods)
    for name, option in OPTIONS.items():
        if option.kind is Kind.NUMBER:
            _check_range(name, getattr(wish, name), option)
    _check_split(wish.split)
    _check_budget(wish.budget_usd)
    elsewhere = acts_elsewhere(methods)
    if elsewhere:
        _check_told(wish.model)
    else:
        _check_models("model", [wish.model])
    _check_models("judges", wish.judges)
    judges = list(dict.fromkeys(wish.judges)) if elsewhere else _judges(wish.model, wish.judges)
    if elsewhere:
        _check_kinds_of_judges(wish.model, judges)
    spec = replace(wish, methods=methods, judges=judges, domains=_domains(wish.domains))
    plan = Plan(spec, dataset, _task_ids(dataset, wish.domains, wish.split, wish.limit))
    if not plan.task_ids:
        where = f"{', '.join(wish.domains) or 'any domain'}{f' of split {wish.split}' if wish.split else ''}"
        raise LaunchError(f"dataset {wish.dataset!r} has no task in {where}", "domains")
    if plan.units > MAX_UNITS:
        raise LaunchError(f"{plan.units} units are more than {MAX_UNITS}; choose fewer tasks, methods or repeats")
    return plan


def launch_run(wish: RunSpec, *, user: User | AnonymousUser | None = None) -> Run:
    """Write the run and all its units, or nothing, once every model answers. Raises LaunchError."""
    plan = plan_run(wish)
    check_models_answer(plan)
    return start(plan, user=user)


def check_models_answer(plan: Plan) -> None:
    """Ask the endpoints of agent and judges whether they are there. Raises LaunchError."""
    models = [] if acts_elsewhere(plan.spec.methods) else [plan.spec.model]
    for field, names in (("model", models), ("judges", plan.spec.judges)):
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
        endpoint = _told(plan.spec.model) if acts_elsewhere(plan.spec.methods) else resolve_endpoint(plan.spec.model)
        judges = [resolve_endpoint(name) for name in plan.spec.judges]
    except (UnknownModel, KeyMissing) as error:
        raise LaunchError(str(error)) from error
    policy = Policy(version=POLICY_VERSION, panel=tuple(plan.spec.judges))
    manifest = build_manifest(plan.spec, plan.dataset, endpoint, judges, limits=Limits(), policy=policy)
    return manifest, manifest_sha256(manifest)


def start(plan: Plan, *, user: User | AnonymousUser | None = None) -> Run:
    """Write a checked plan as a run with its units, and send the first of them to the queue."""
    manifest, sha256 = manifest_of(plan)
    simulated = any(model["simulated"] for model in [manifest["model"], *manifest["judges"]])
    owner = user if isinstance(user, User) else None
    with transaction.atomic():
        gold_seen = owner is not None and acts_elsewhere(plan.spec.methods) and _was_shown_gold(owner, plan.dataset)
        run = Run.objects.create(
            dataset=plan.dataset,
            manifest=manifest,
            manifest_sha256=sha256,
            simulated=simulated,
            gold_seen=gold_seen,
            even_if_invalid=plan.dataset.valid is False,
            model=plan.spec.model,
            max_in_flight=plan.spec.max_in_flight,
            budget_usd=plan.spec.budget_usd,
            created_by=owner,
        )
        Unit.objects.bulk_create(_units(run, plan), batch_size=2000)
        transaction.on_commit(lambda: _enqueue(run.pk))
    return run


def _was_shown_gold(user: User, dataset: Dataset) -> bool:
    hold_fence(user.pk, dataset.pk)
    return has_read(user.pk, dataset.pk)


def _enqueue(run_id: int) -> None:
    from bench.runs.tasks import dispatch

    dispatch(run_id)


def _units(run: Run, plan: Plan) -> Iterable[Unit]:
    """Task by task, so that a run which is stopped half-way has the same tasks for every method."""
    for repeat in range(plan.spec.repeats):
        for task_id in plan.task_ids:
            for method in plan.spec.methods:
                yield Unit(run=run, task_id=task_id, method=method, repeat=repeat)


def _dataset(name: str) -> Dataset:
    found = Dataset.objects.newest(name)
    if found is None:
        known = sorted(set(Dataset.objects.filter(complete=True).values_list("name", flat=True)))
        have = f"there are: {', '.join(known)}" if known else "there are none yet"
        raise LaunchError(
            f"unknown dataset {name!r}; {have}. Make it with `manage.py build_dataset --name {name}`.", "dataset"
        )
    return found


def _check_valid(dataset: Dataset, even_if_invalid: bool) -> None:
    """A version that was not checked, such as an imported one, is no invalid one."""
    if dataset.valid is False and not even_if_invalid:
        failed = "; ".join(f"{row['name']}: {row['value']:g} (allowed: {row['limit']})" for row in dataset.failed_gates)
        raise LaunchError(
            f"dataset {dataset} fails its checks ({failed}), so its numbers would not mean what they say. Mend and "
            "build it anew, or ask for the run all the same: --even-if-invalid, in the API even_if_invalid",
            "dataset",
        )


def _check_range(name: str, value: int | None, option: Option) -> None:
    low, high = option.low, option.high
    if value is not None and low is not None and high is not None and not low <= value <= high:
        raise LaunchError(f"{name} is {value}; it must be from {low} to {high}", name)


def _check_split(split: str) -> None:
    if split and split not in Split.values:
        raise LaunchError(
            f"unknown split {split!r}; there are: {', '.join(Split.values)}; leave it out for all", "split"
        )


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


def acts_elsewhere(methods: Sequence[str]) -> bool:
    """Whether agents elsewhere do all the work: their model is what they say, and nobody here calls it."""
    return all(method.startswith(EXTERNAL) for method in methods)


def _check_told(model: str) -> None:
    """What an agent elsewhere says that it uses: any name."""
    if not model.strip() or len(model) > MODEL_NAME_LENGTH or unstorable(model):
        raise LaunchError(f"model {model[:40]!r}: name the model in 1 to {MODEL_NAME_LENGTH} characters", "model")
    if is_offline(model):
        _check_models("model", [model])


def _told(model: str) -> ModelEndpoint:
    """The agent's own model in the manifest. It is simulated only where it is said to be the simulated one."""
    return ModelEndpoint(
        slug=model, base_url="http://elsewhere.invalid", model=model, family=model, simulated=is_offline(model)
    )


def _check_kinds_of_judges(model: str, judges: Sequence[str]) -> None:
    """A simulated judge reads the simulated model's words; of a real one's text it says nothing."""
    simulated = [name for name in judges if is_offline(name)]
    if simulated and not is_offline(model):
        raise LaunchError(
            f"judge {simulated[0]!r} is simulated and model {model!r} is not; name real judges, or none: then rules "
            "and people grade",
            "judges",
        )


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
        simulated = [name for name in judges if is_offline(name)]
        if simulated and not is_offline(model):
            raise LaunchError(
                f"{', '.join(simulated)} only grade simulated runs, and {model!r} is a real endpoint; "
                "name registered endpoints: --judges a,b,c",
                "judges",
            )
        return list(dict.fromkeys(judges))
    if is_offline(model):
        return list(PANEL)
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
