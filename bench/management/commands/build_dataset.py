from __future__ import annotations

from typing import Any

from django.core.management.base import CommandParser

from bench.catalogue import load_catalogue
from bench.catalogue.store import store_catalogue
from bench.generation.authoring import writing
from bench.generation.build import Recipe, build_dataset, generate
from bench.generation.validity.marking import check_once
from bench.management.base import JsonCommand
from bench.names import check_slug
from bench.runs.endpoints import resolve_endpoint
from bench.services import services


class Command(JsonCommand):
    help = "Generate personas, histories and tasks. The same arguments give the same sha256."

    def arguments(self, parser: CommandParser) -> None:
        parser.add_argument("--name", required=True)
        parser.add_argument("--size", default="starter", help="tiny, starter, full, or a number of personas")
        parser.add_argument("--seed", type=int, default=1)
        parser.add_argument("--noise", type=float, default=0.5, help="share of events that show nothing, 0 to 0.9")
        parser.add_argument("--author", default="procedural", help="procedural, or llm with --model")
        parser.add_argument("--model", default="offline", help="endpoint that writes the texts of --author llm")
        parser.add_argument("--budget-usd", type=float, help="most that the texts of --author llm may cost")
        parser.add_argument("--estimate", action="store_true", help="say what --author llm would cost, and end")

    def run(self, **options: Any) -> dict[str, Any]:
        model = options["model"] if options["author"] == "llm" else ""
        recipe = Recipe(options["name"], options["size"], options["seed"], options["noise"], options["author"], model)
        check_slug(recipe.name, "name", 60)
        if options["estimate"] and not model:
            raise ValueError("--estimate is about --author llm; texts of the catalogue cost nothing")
        catalogue = load_catalogue()
        if model:
            expected = writing.estimate(generate(catalogue, recipe), catalogue, resolve_endpoint(model))
            self.say(f"{model} will be asked: {expected}")
            if options["estimate"]:
                return vars(expected)
        store_catalogue(catalogue)
        services().ensure("embeddings")
        dataset = build_dataset(catalogue, recipe, budget_usd=options["budget_usd"], say=self.say)
        self.say(f"{dataset}: {dataset.summary['personas']} personas, {dataset.summary['tasks']} tasks")
        check_once(dataset)
        for row in dataset.failed_gates:
            self.say(f"INVALID {row['name']}: {row['value']} (allowed: {row['limit']})")
        for row in dataset.limits_not_met:
            self.say(f"limit not met: {row['name']}: {row['value']} (allowed: {row['limit']}; docs/validity.md)")
        made = {"name": dataset.name, "version": dataset.version, "sha256": dataset.sha256, **dataset.summary}
        return {**made, "validity": dataset.validity}
