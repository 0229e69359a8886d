from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import Any

from django.core.management.base import CommandParser
from django.db import InterfaceError, OperationalError, connection
from redis.exceptions import RedisError

from bench.database import first_line, is_away, patiently
from bench.generation.build import with_noise
from bench.generation.validity.marking import check_once
from bench.grading.coverage import silence_warnings
from bench.grading.panel import panel_warnings
from bench.management.base import JsonCommand
from bench.management.table import SweepRun, results_table, sweep_table
from bench.models import Run, RunStatus
from bench.pages import numbers
from bench.results.report import results_of
from bench.runs.endpoints import is_offline
from bench.runs.launch import Plan, check_models_answer, manifest_of, plan_run, start
from bench.runs.presets import PRESETS, Preset
from bench.runs.progress import progress_of
from bench.runs.spec import OPTIONS, Kind, Option, RunSpec
from bench.runs.tasks import dispatch
from bench.runs.worker import workers_alive
from bench.services import services

POLL_S, LONGEST_POLL_S = 0.5, 5.0
NO_WORKER_AFTER_S = 30


class Command(JsonCommand):
    help = "Run methods on a dataset and print the results table."

    def arguments(self, parser: CommandParser) -> None:
        for name, option in OPTIONS.items():
            add_option(parser, name, option)
        parser.add_argument("--preset", default="", help=f"an experiment by name: {', '.join(PRESETS)}")
        parser.add_argument("--reuse", action="store_true", help="show the finished run of the same manifest, if any")

    def run(self, **options: Any) -> dict[str, Any]:
        preset = _preset(options["preset"])
        wish = _wish(options, preset)
        if not preset.noises:
            return self._one(wish, reuse=options["reuse"])
        base = plan_run(wish).dataset  # whatever is wrong is said before datasets are made
        runs = []
        for noise in preset.noises:
            dataset = with_noise(base, noise, say=self.say)
            check_once(dataset)
            runs.append({"noise": noise, **self._one(replace(wish, dataset=dataset.name), reuse=options["reuse"])})
        shown = [SweepRun(noise=run["noise"], simulated=run["simulated"], cells=run["cells"]) for run in runs]
        self.stderr.write(sweep_table(shown))
        return {"preset": options["preset"], "runs": runs}

    def _one(self, wish: RunSpec, *, reuse: bool) -> dict[str, Any]:
        started = time.monotonic()
        plan = plan_run(wish)
        models = [plan.spec.model, *plan.spec.judges]
        services().ensure("embeddings", *(["offline"] if any(map(is_offline, models)) else []))
        check_models_answer(plan)
        run = _known(plan) if reuse else None
        if run is None:
            run = start(plan)
            Watch(self, run, models).until_over()
        results = patiently(partial(results_of, run), said=self._say_and_start)
        self.stderr.write(results_table(run, results))
        dataset = {"name": run.dataset.name, "version": run.dataset.version, "sha256": run.dataset.sha256}
        return {
            "run_id": run.pk,
            "simulated": run.simulated,
            "status": run.status,
            "dataset": dataset,
            "even_if_invalid": run.even_if_invalid,
            "dataset_validity": run.dataset.validity,
            "manifest_sha256": run.manifest_sha256,
            "warnings": [
                *_named_twice(wish.judges),
                *panel_warnings(run.manifest["judges"], run.manifest["model"]),
                *silence_warnings(results["judges"]),
            ],
            **results,
            "wall_s": round(time.monotonic() - started, 2),
        }

    def failed(self, result: dict[str, Any]) -> str:
        if "runs" in result:
            return next(filter(None, map(self.failed, result["runs"])), "")
        evaluated = sum(cell["evaluated"] for cell in result["cells"])
        run = Run.objects.get(pk=result["run_id"])
        if run.budget_hit:
            spent = f"{numbers.usd(run.spent_usd)} of {numbers.usd(run.budget_usd)} are spent"
            return f"run {run.pk} is paused: {spent}; see /runs/{run.pk}/"
        if run.status != RunStatus.DONE:
            return f"run {run.pk} is {run.status}, not done; see /runs/{run.pk}/"
        if evaluated == 0:
            errors = progress_of(run).errors
            why = f" Most units say: {errors[0][0]}" if errors else ""
            return f"run {run.pk}: nothing was evaluated; see /runs/{run.pk}/.{why}"
        return ""

    def _say_and_start(self, text: str) -> None:
        self.say(text)
        start_again(self.say, [])


class Watch:
    """Follows a run to its end, also while services are away: the run belongs to the workers, not to this command."""

    def __init__(self, command: Command, run: Run, models: Sequence[str]) -> None:
        self._say = command.say
        self._run = run
        self._models = models
        self._said = -1
        self._told: set[str] = set()
        self._worker_seen = time.monotonic()

    def until_over(self) -> None:
        """Ctrl-C leaves the run to the worker. Raises ValueError where no worker comes."""
        pause = POLL_S
        while True:
            try:
                if self._look():
                    return
                pause = POLL_S
            except (OperationalError, InterfaceError, RedisError) as error:
                if isinstance(error, OperationalError | InterfaceError) and not is_away(error):
                    raise
                service = "Redis" if isinstance(error, RedisError) else "PostgreSQL"
                self._tell({service: f"run {self._run.pk}: {service} does not answer ({first_line(error)})"})
                connection.close()
                pause = min(LONGEST_POLL_S, pause * 2)
                self._worker_seen = time.monotonic()
            time.sleep(pause)

    def _look(self) -> bool:
        """One look at the run. True where it is over."""
        run = self._run
        run.refresh_from_db()
        progress = progress_of(run)
        if progress.done * 20 // max(1, progress.planned) != self._said:
            self._said = progress.done * 20 // max(1, progress.planned)
            self._say(f"run {run.pk}: {progress.done} of {progress.planned} units, {progress.failed} failed")
        if run.status != RunStatus.RUNNING:
            return True
        self._tell({one.away: f"run {run.pk}: {one}" for one in progress.waiting})
        if workers_alive():
            self._worker_seen = time.monotonic()
        elif services().is_embedded():  # at the start, or where it was stopped or killed since
            services().ensure("worker")
        patience = NO_WORKER_AFTER_S * (4 if services().is_embedded() else 1)  # ours was started and may be slow
        if time.monotonic() - self._worker_seen > patience:
            raise ValueError(f"no worker answers; start one with `make worker`. Run {run.pk} waits and goes on then.")
        dispatch(run.pk)
        return False

    def _tell(self, away: Mapping[str, str]) -> None:
        """Say what is away once, what is back, and start what is ours to start."""
        for name in sorted(away.keys() - self._told):
            self._say(f"{away[name]}. The run waits and goes on by itself.")
        for name in sorted(self._told - away.keys()):
            self._say(f"run {self._run.pk}: {name} answers again")
        self._told = set(away)
        if away:
            start_again(self._say, self._models)


def start_again(say: Callable[[str], None], models: Sequence[str]) -> None:
    """Start embedded services that died. Those of others are waited for."""
    names = ["postgres", "redis", "embeddings", *(["offline"] if any(map(is_offline, models)) else [])]
    if not services().is_embedded():
        return
    try:
        services().ensure(*names)
    except OSError as error:
        say(f"not started again: {error}")


def add_option(parser: CommandParser, name: str, option: Option) -> None:
    """One option of a run as an argument of a command. ``methods`` may come from a preset."""
    flag = f"--{name.replace('_', '-')}"
    if option.kind is Kind.SWITCH:
        parser.add_argument(flag, action="store_true", help=option.help)
        return
    types = {Kind.NUMBER: int, Kind.SUM: float}
    text = f"{option.help}, separated by commas" if option.kind is Kind.NAMES else option.help
    parser.add_argument(
        flag,
        type=types.get(option.kind, str),
        default="" if option.kind is Kind.NAMES else option.default,
        required=option.required and name != "methods",
        help=text,
    )


def _wish(options: Mapping[str, Any], preset: Preset) -> RunSpec:
    given: dict[str, Any] = {
        name: _words(options[name]) if option.kind is Kind.NAMES else options[name] for name, option in OPTIONS.items()
    }
    given["methods"] = [*given["methods"], *preset.methods]
    given["transfer"] = given["transfer"] or preset.transfer
    return RunSpec(**given)


def _named_twice(judges: Sequence[str]) -> list[str]:
    """Said of what was asked: the run's own panel names each judge once."""
    twice = [name for name, count in Counter(judges).items() if count > 1]
    return [f"{name} is named more than once as a judge; it has one vote." for name in twice]


def _preset(name: str) -> Preset:
    if name and name not in PRESETS:
        raise ValueError(f"unknown preset {name!r}; there are: {', '.join(PRESETS)}")
    return PRESETS[name] if name else Preset(())


def _words(text: str) -> list[str]:
    return [word.strip() for word in text.split(",") if word.strip()]


def _known(plan: Plan) -> Run | None:
    """The newest finished run that would come out the same: equal methods, data, code and prompts."""
    sha256 = manifest_of(plan)[1]
    return Run.objects.filter(manifest_sha256=sha256, status=RunStatus.DONE).order_by("-pk").first()
