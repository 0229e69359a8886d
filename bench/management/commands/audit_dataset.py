from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

from django.core.management.base import CommandParser
from django.template.loader import render_to_string

from bench.audit.quiz import make_quiz
from bench.audit.shapes import INSTRUCTIONS, REMARKS
from bench.files import write_file
from bench.management.base import JsonCommand
from bench.models import Dataset


class Command(JsonCommand):
    help = "Write a blind quiz over a dataset: FILE as JSON, and a printable page beside it."

    def arguments(self, parser: CommandParser) -> None:
        parser.add_argument("--dataset", required=True)
        parser.add_argument("--mode", required=True, help="cue, gold, full, none, retrieved:METHOD; a list too")
        parser.add_argument("--size", type=int, default=200, help="items a mode, at most")
        parser.add_argument("--seed", type=int, default=0)
        parser.add_argument("--run", type=int, help="whose trajectories retrieved:METHOD shows")
        parser.add_argument("--apart-from", nargs="+", default=[], metavar="FILE.json", help="quizzes of other tasks")
        parser.add_argument("--out", required=True, metavar="FILE.json")

    def run(self, **options: Any) -> dict[str, Any]:
        dataset = Dataset.objects.newest(options["dataset"])
        if dataset is None:
            raise ValueError(f"unknown dataset {options['dataset']!r}; make it with build_dataset")
        out = Path(options["out"])
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


def _questions_of(paths: Sequence[str]) -> set[str]:
    found: set[str] = set()
    for path in paths:
        try:
            quiz = json.loads(Path(path).read_text())
            found.update(question["id"] for item in quiz["items"] for question in item["questions"])
        except (ValueError, TypeError, KeyError) as error:
            raise ValueError(f"--apart-from {path}: it is no quiz of audit_dataset ({error!r})") from error
    return found
