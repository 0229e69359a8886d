from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

from django.core.management.base import CommandParser
from django.template.loader import render_to_string

from bench.audit.answers import read_answers, store_answers
from bench.audit.quiz import make_quiz
from bench.audit.report import Share, answers_of, disputed, report, reports
from bench.audit.shapes import INSTRUCTIONS, REMARKS
from bench.files import write_file
from bench.grading.errata import put_back, retire
from bench.management.base import JsonCommand
from bench.models import Checkpoint, Dataset
from bench.pages import numbers


class Command(JsonCommand):
    help = "Readers' audit: write a blind quiz (JSON and a page), take answers in, report, or retire checkpoints."

    def arguments(self, parser: CommandParser) -> None:
        parser.add_argument("--dataset", required=True)
        parser.add_argument("--mode", help="cue, gold, full, none, retrieved:METHOD; a list too")
        parser.add_argument("--size", type=int, default=200, help="items a mode, at most")
        parser.add_argument("--seed", type=int, default=0)
        parser.add_argument("--run", type=int, help="whose trajectories retrieved:METHOD shows")
        parser.add_argument("--apart-from", nargs="+", default=[], metavar="FILE.json", help="quizzes of other tasks")
        parser.add_argument("--out", metavar="FILE.json", help="write a quiz here; needs --mode")
        parser.add_argument("--answers", metavar="FILE.json", help="take a reader's answers in")
        parser.add_argument("--reader", default="", help="who answered")
        parser.add_argument("--kind", default="", help="of the reader: human or model")
        parser.add_argument("--report", action="store_true", help="what readers made of the version")
        parser.add_argument("--dataset-version", type=int, metavar="N", help="of the dataset; the newest unless named")
        parser.add_argument("--retire", type=int, metavar="CHECKPOINT", help="count it in no score; needs --why")
        parser.add_argument("--put-back", type=int, metavar="CHECKPOINT", help="count a retired one again")
        parser.add_argument("--why", default="", help="why the checkpoint is wrong")
        parser.add_argument("--by", default="command line", help="who retires it, or puts it back")

    def run(self, **options: Any) -> dict[str, Any]:
        dataset = _version(options["dataset"], options["dataset_version"])
        ways = ("out", "answers", "report", "retire", "put_back")
        if sum(options[way] not in (None, False, "") for way in ways) != 1:
            raise ValueError("say one of --out FILE (a quiz), --answers FILE, --report, --retire ID, --put-back ID")
        if options["retire"] is not None or options["put_back"] is not None:
            return self._erratum(dataset, options)
        if options["answers"]:
            return self._take(dataset.name, Path(options["answers"]), options["reader"], options["kind"])
        if options["report"]:
            return self._report(dataset)
        return self._quiz(dataset, Path(options["out"]), options)

    def _take(self, name: str, path: Path, reader: str, kind: str) -> dict[str, Any]:
        try:
            answers = read_answers(json.loads(path.read_text(encoding="utf-8")))
        except ValueError as error:  # no JSON, no UTF-8, or another shape
            raise ValueError(f"--answers {path}: {error}") from error
        dataset, modes = store_answers(name, answers, reader=reader, kind=kind)
        self.say(f"stored {len(answers)} answers of {reader} about {dataset}")
        own = [answer for answer in answers_of(dataset) if answer.question.mode in modes]
        return {"dataset": str(dataset), "stored": len(answers), **report(",".join(modes), own)}

    def _report(self, dataset: Dataset) -> dict[str, Any]:
        answers = answers_of(dataset)
        modes = reports(answers)
        for mode in modes:
            self.say(_line(mode["mode"], mode))
            for name, part in (*mode["by_tier"].items(), *mode["by_conflict"].items()):
                self.say(_line(f"  {name}", part))
        if not modes:
            self.say(f"nobody has read {dataset} yet; write a quiz with --mode and --out")
        named = {"name": dataset.name, "version": dataset.version, "sha256": dataset.sha256}
        return {"dataset": named, "modes": modes, "errata": disputed(answers)}

    def _erratum(self, dataset: Dataset, options: dict[str, Any]) -> dict[str, Any]:
        pk = options["put_back"] if options["retire"] is None else options["retire"]
        if not Checkpoint.objects.filter(pk=pk, task__persona__dataset=dataset).exists():
            raise ValueError(f"checkpoint {pk} is none of {dataset}; --report lists those that readers dispute")
        if options["retire"] is None:
            put_back(pk, by=options["by"])
        else:
            retire(pk, reason=options["why"], by=options["by"])
        dataset.refresh_from_db()
        self.say(f"checkpoint {pk} {'counts again' if options['retire'] is None else 'is retired'}: {dataset}")
        return {"dataset": str(dataset), "checkpoint": pk, "retired": options["retire"] is not None}

    def _quiz(self, dataset: Dataset, out: Path, options: dict[str, Any]) -> dict[str, Any]:
        if not options["mode"]:
            raise ValueError("--mode: a quiz needs one of cue, gold, full, none, retrieved:METHOD")
        if out.suffix != ".json":
            raise ValueError(f"--out {out}: the name must end in .json; the page stands beside it as .html")
        items = make_quiz(
            dataset,
            options["mode"].split(","),
            size=options["size"],
            seed=options["seed"],
            run=options["run"],
            apart_from=_questions_of(options["apart_from"]),
        )
        quiz = {"instructions": INSTRUCTIONS, "remarks": REMARKS, "items": [asdict(item) for item in items]}
        page = render_to_string("audit/quiz.html", {"items": items, "remarks": REMARKS})
        write_file(out, json.dumps(quiz, indent=1, ensure_ascii=False) + "\n")
        write_file(out.with_suffix(".html"), page)
        self.say(f"wrote {out} and {out.with_suffix('.html')}: {len(items)} items")
        return {"items": len(items), "questions": sum(len(item.questions) for item in items)}


def _version(name: str, version: int | None) -> Dataset:
    if version is None:
        found = Dataset.objects.newest(name)
    else:
        found = Dataset.objects.filter(name=name, version=version, complete=True).first()
    if found is None:
        which = f"dataset {name!r}" if version is None else f"version {version} of dataset {name!r}"
        raise ValueError(f"unknown {which}; make it with build_dataset")
    return found


def _questions_of(paths: Sequence[str]) -> set[str]:
    found: set[str] = set()
    for path in paths:
        try:
            quiz = json.loads(Path(path).read_text())
            found.update(question["id"] for item in quiz["items"] for question in item["questions"])
        except (ValueError, TypeError, KeyError) as error:
            raise ValueError(f"--apart-from {path}: it is no quiz of audit_dataset ({error!r})") from error
    return found


def _line(name: str, share: Share) -> str:
    if share["right"] is None:
        return f"{name:<20} nothing read"
    return f"{name:<20} {numbers.share(share['right'])} {numbers.interval(share)}  n {share['n']}"
