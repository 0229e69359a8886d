from __future__ import annotations

import time
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from django.core.management.base import CommandParser

from bench.generation.build import with_noise
from bench.management.base import JsonCommand
from bench.management.table import results_table, sweep_table
from bench.models import Run, RunStatus
from bench.results.report import results_of
from bench.runs.endpoints import is_offline
from bench.runs.launch import Plan, check_models_answer, manifest_of, plan_run, start
from bench.runs.presets import PRESETS, Preset
from bench.runs.progress import progress_of
from bench.runs.spec import OPTIONS, Kind, Option, RunSpec
from bench.runs.tasks import dispatch
from bench.runs.worker import workers_alive
from bench.services import services

POLL_S = 0.5
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
            runs.append({"noise": noise, **self._one(replace(wish, dataset=dataset.name), reuse=options["reuse"])})
        self.stderr.write(sweep_table(runs))
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
            self._wait(run)
        results = results_of(run)
        self.stderr.write(results_table(run, results))
        dataset = {"name": run.dataset.name, "version": run.dataset.version, "sha256": run.dataset.sha256}
        return {
            "run_id": run.pk,
            "simulated": run.simulated,
            "status": run.status,
            "dataset": dataset,
            "manifest_sha256": run.manifest_sha256,
            **results,
            "wall_s": round(time.monotonic() - started, 2),
        }

    def failed(self, result: dict[str, Any]) -> str:
        if "runs" in result:
            return next(filter(None, map(self.failed, result["runs"])), "")
        evaluated = sum(cell["evaluated"] for cell in result["cells"])
        run = Run.objects.get(pk=result["run_id"])
        if run.budget_hit:
            spent = f"{run.spent_usd:.2f} of {run.budget_usd or 0:.2f} USD are spent"
            return f"run {run.pk} is paused: {spent}; see /runs/{run.pk}/"
        if run.status != RunStatus.DONE:
            return f"run {run.pk} is {run.status}, not done; see /runs/{run.pk}/"
        if evaluated == 0:
            errors = progress_of(run).errors
            why = f" Most units say: {errors[0][0]}" if errors else ""
            return f"run {run.pk}: nothing was evaluated; see /runs/{run.pk}/.{why}"
        return ""

    def _wait(self, run: Run) -> None:
        """Until the run is over. Ctrl-C leaves the run to the worker."""
        said = -1
        last_seen = time.monotonic()
        while True:
            run.refresh_from_db()
            progress = progress_of(run)
            if progress.done * 20 // max(1, progress.planned) != said:
                said = progress.done * 20 // max(1, progress.planned)
                self.say(f"run {run.pk}: {progress.done} of {progress.planned} units, {progress.failed} failed")
            if run.status != RunStatus.RUNNING:
                return
            if workers_alive():
                last_seen = time.monotonic()
            elif services().is_embedded():  # at the start, or where it was stopped or killed since
                services().ensure("worker")
            if time.monotonic() - last_seen > NO_WORKER_AFTER_S:
                raise ValueError(
                    f"no worker answers; start one with `make worker`. Run {run.pk} waits and goes on then."
                )
            dispatch(run.pk)
            time.sleep(POLL_S)


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
