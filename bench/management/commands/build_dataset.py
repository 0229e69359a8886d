from __future__ import annotations

from typing import Any

from django.core.management.base import CommandParser

from bench.catalogue import load_catalogue
from bench.catalogue.store import store_catalogue
from bench.generation.authors import author_of
from bench.generation.build import Recipe, build_dataset
from bench.generation.validity.marking import check_once
from bench.management.base import JsonCommand
from bench.names import check_slug
from bench.services import services


class Command(JsonCommand):
    help = "Generate personas, histories and tasks. The same arguments give the same sha256."

    def arguments(self, parser: CommandParser) -> None:
        parser.add_argument("--name", required=True)
        parser.add_argument("--size", default="starter", help="tiny, starter, full, or a number of personas")
        parser.add_argument("--seed", type=int, default=1)
        parser.add_argument("--noise", type=float, default=0.5, help="share of events that show nothing, 0 to 0.9")
        parser.add_argument("--author", default="procedural", help="procedural, or llm with --model")
        parser.add_argument("--model", default="offline", help="endpoint that words the texts for --author llm")

    def run(self, **options: Any) -> dict[str, Any]:
        recipe = Recipe(options["name"], options["size"], options["seed"], options["noise"], options["author"])
        check_slug(recipe.name, "name", 60)
        author_of(recipe.author, options["model"])
        catalogue = load_catalogue()
        store_catalogue(catalogue)
        services().ensure("embeddings")
        dataset = build_dataset(catalogue, recipe, model=options["model"], say=self.say)
        self.say(f"{dataset}: {dataset.summary['personas']} personas, {dataset.summary['tasks']} tasks")
        check_once(dataset)
        for row in dataset.failed_gates:
            self.say(f"INVALID {row['name']}: {row['value']} (allowed: {row['limit']})")
        for row in dataset.limits_not_met:
            self.say(f"limit not met: {row['name']}: {row['value']} (allowed: {row['limit']}; docs/validity.md)")
        made = {"name": dataset.name, "version": dataset.version, "sha256": dataset.sha256, **dataset.summary}
        return {**made, "validity": dataset.validity}
