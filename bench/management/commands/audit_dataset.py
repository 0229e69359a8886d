from __future__ import annotations

import json
from dataclasses import asdict
from pathlib import Path
from typing import Any

from django.core.management.base import CommandParser
from django.template.loader import render_to_string

from bench.audit.quiz import REMARKS, make_quiz
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
        parser.add_argument("--out", required=True, metavar="FILE.json")

    def run(self, **options: Any) -> dict[str, Any]:
        dataset = Dataset.objects.newest(options["dataset"])
        if dataset is None:
            raise ValueError(f"unknown dataset {options['dataset']!r}; make it with build_dataset")
        out = Path(options["out"])
        if out.suffix != ".json":
            raise ValueError(f"--out {out}: the name must end in .json; the page stands beside it as .html")
        modes = options["mode"].split(",")
        items = make_quiz(dataset, modes, size=options["size"], seed=options["seed"], run=options["run"])
        quiz = {"items": [asdict(item) for item in items], "remarks": dict(REMARKS)}
        page = render_to_string("audit/quiz.html", {"items": items, "remarks": REMARKS})
        write_file(out, json.dumps(quiz, indent=1, ensure_ascii=False) + "\n")
        write_file(out.with_suffix(".html"), page)
        self.say(f"wrote {out} and {out.with_suffix('.html')}: {len(items)} items")
        return {"items": len(items), "questions": sum(len(item.questions) for item in items)}
