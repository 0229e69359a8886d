"""Generate a dataset and write it. The same arguments on the same catalogue give the same sha256."""

from __future__ import annotations

import hashlib
import json
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from pathlib import Path
from random import Random
from typing import Any

from django.db import transaction

from bench.catalogue import Catalogue, load_catalogue
from bench.catalogue.store import store_catalogue
from bench.database import count_rows
from bench.generation.authoring import writing
from bench.generation.authoring.writing import Written
from bench.generation.histories import make_history
from bench.generation.personas import Held, make_persona
from bench.generation.spec import EventSpec, PersonaSpec, TaskSpec, size_of
from bench.generation.tasks import candidates_of, choose_tasks, make_tasks
from bench.models import Checkpoint, Dataset, Event, EventLabel, Persona, RejectedText, Scenario, Task
from bench.runs.endpoints import resolve_endpoint
from bench.search.vectors import embed_texts, index_events
from bench.texts import text_sha256

AUTHORS = ("procedural", "llm")


@dataclass(frozen=True)
class Recipe:
    """Everything that decides a dataset besides the catalogue."""

    name: str
    size: str = "starter"
    seed: int = 1
    noise: float = 0.5
    author: str = "procedural"
    model: str = ""  # of author llm

    def __post_init__(self) -> None:
        size_of(self.size)
        if self.author not in AUTHORS:
            raise ValueError(f"unknown author {self.author!r}; allowed: {', '.join(AUTHORS)}")
        if not 0 <= self.noise <= 0.9:
            raise ValueError(f"noise {self.noise} is outside 0 to 0.9")


def generate(catalogue: Catalogue, recipe: Recipe) -> list[PersonaSpec]:
    """All personas with histories and tasks. Each persona has a random stream of its own."""
    size = size_of(recipe.size)
    held: Held = Counter()
    holders: dict[str, list[str]] = {}
    taken: set[str] = set()
    streams = [Random(f"{recipe.seed}/{index}") for index in range(size.personas)]  # noqa: S311 (reproducible draws)
    personas = []
    for index, rng in enumerate(streams):
        persona = make_persona(catalogue, size, index, held, taken, rng)
        history = make_history(catalogue, size, persona, recipe.noise, holders, rng)
        personas.append(replace(persona, events=history))
    everyone = list(zip(personas, streams, strict=True))
    chosen = choose_tasks([(p.split, candidates_of(catalogue, p, rng)) for p, rng in everyone], size.tasks)
    return [
        replace(persona, tasks=make_tasks(catalogue, persona, tasks, rng))
        for (persona, rng), tasks in zip(everyone, chosen, strict=True)
    ]


def canonical(persona: PersonaSpec) -> dict[str, Any]:
    """The persona as plain JSON, in an order that never changes."""
    return {
        "slug": persona.slug,
        "name": persona.name,
        "split": persona.split,
        "background": persona.person.model_dump(mode="json"),
        "traits": [vars(trait) | {"changed_on": str(trait.changed_on or "")} for trait in persona.traits],
        "orders": [vars(order) for order in persona.orders],
        "habits": [vars(habit) for habit in persona.habits],
        "states": [{"state": p.key, "start": str(p.start), "end": str(p.end)} for p in persona.states],
        "events": [vars(event) | {"occurred_at": event.occurred_at.isoformat()} for event in persona.events],
        "tasks": [_canonical_task(task) for task in persona.tasks],
    }


def _canonical_task(task: TaskSpec) -> dict[str, Any]:
    return vars(task) | {
        "as_of": task.as_of.isoformat(),
        "checkpoints": [vars(checkpoint) for checkpoint in task.checkpoints],
    }


def digest(personas: Iterable[PersonaSpec]) -> str:
    lines = (json.dumps(canonical(p), sort_keys=True, ensure_ascii=False, separators=(",", ":")) for p in personas)
    return hashlib.sha256("\n".join(lines).encode()).hexdigest()


def summarise(personas: Sequence[PersonaSpec]) -> dict[str, Any]:
    """The counts that build_dataset reports; means are a task, conflicts and tiers count checkpoints."""
    tasks = [task for persona in personas for task in persona.tasks]
    preferences = [[c for c in task.checkpoints if c.kind == "preference"] for task in tasks]
    evidence = [len({e for c in found for e in c.evidence}) for found in preferences]
    conflicts = Counter(c.conflict for found in preferences for c in found if c.conflict)
    tiers = Counter(c.tier for found in preferences for c in found)
    count = max(1, len(tasks))
    return {
        "personas": len(personas),
        "events": sum(len(persona.events) for persona in personas),
        "tasks": len(tasks),
        "api_tasks": sum(bool(task.tools) for task in tasks),
        "checkpoints": sum(len(task.checkpoints) for task in tasks),
        "constraints_per_task": round(sum(map(len, preferences)) / count, 2),
        "evidence_per_task": round(sum(evidence) / count, 2),
        "conflicts": dict(sorted(conflicts.items())),
        "tiers": dict(sorted(tiers.items())),
    }


def write_dataset(
    recipe: Recipe, catalogue: Catalogue, personas: Sequence[PersonaSpec], written: Written | None = None
) -> Dataset:
    """Rows for the personas, all or none. The same content under the same name is written once.

    ``written``: how a model came by the texts.
    """
    sha256 = digest(personas)
    known = Dataset.objects.filter(name=recipe.name, sha256=sha256, complete=True).first()
    if known is not None:
        return known
    with transaction.atomic():
        newest = Dataset.objects.filter(name=recipe.name).order_by("-version").first()
        dataset = Dataset.objects.create(
            name=recipe.name,
            version=newest.version + 1 if newest else 1,
            sha256=sha256,
            seed=recipe.seed,
            size=recipe.size,
            noise=recipe.noise,
            author=recipe.author,
            data_version=catalogue.data_version,
            summary={
                **summarise(personas),
                "generator": generator_sha256(),
                **({"authoring": written.report} if written else {}),
            },
            complete=True,
        )
        RejectedText.objects.bulk_create(
            RejectedText(dataset=dataset, **vars(one)) for one in (written.rejected if written else ())
        )
        of_version = Scenario.objects.filter(data_version=catalogue.data_version)
        scenarios = {str(s): s for s in of_version.select_related("domain")}
        for persona in personas:
            _write_persona(dataset, persona, scenarios)
    count_rows(Persona, Event, EventLabel, Task, Checkpoint, Checkpoint.evidence.through)
    return dataset


def build_dataset(
    catalogue: Catalogue, recipe: Recipe, *, say: Callable[[str], None], budget_usd: float | None = None
) -> Dataset:
    """Generate, write and embed. After a kill the next call goes on where this one stopped.

    What was made before by the same recipe, catalogue and generator is not made again.
    """
    dataset = _made_before(recipe, catalogue)
    if dataset is None:
        personas, written = generate(catalogue, recipe), None
        if recipe.author == "llm":
            endpoint = resolve_endpoint(recipe.model)
            written = writing.write(personas, catalogue, endpoint, budget_usd=budget_usd, say=say)
            personas = written.personas
        dataset = write_dataset(recipe, catalogue, personas, written)
    ids = list(dataset.personas.values_list("pk", flat=True))
    index_events(ids, progress=lambda done, total: say(f"embedded {done} of {total} texts"))
    embed_texts(sorted(set(Task.objects.of_dataset(dataset.pk).values_list("request", flat=True))), kind="query")
    return dataset


def with_noise(dataset: Dataset, noise: float, *, say: Callable[[str], None]) -> Dataset:
    """The same people, cues and tasks in histories with another share of noise, named after their dataset.

    Raises ValueError for a dataset that was not generated here.
    """
    if (dataset.source, dataset.author) != ("generated", "procedural"):
        raise ValueError(
            f"dataset {dataset.name!r} is {dataset.source} by {dataset.author!r}; its noise can only be changed where "
            "`build_dataset --author procedural` made it"
        )
    recipe = Recipe(f"{dataset.name}-noise{noise * 100:.0f}", dataset.size, dataset.seed, noise)
    catalogue = load_catalogue()
    store_catalogue(catalogue)
    return build_dataset(catalogue, recipe, say=say)


def _made_before(recipe: Recipe, catalogue: Catalogue) -> Dataset | None:
    by_model = {"summary__authoring__model": recipe.model} if recipe.author == "llm" else {}
    return Dataset.objects.filter(
        name=recipe.name,
        size=recipe.size,
        seed=recipe.seed,
        noise=recipe.noise,
        author=recipe.author,
        data_version=catalogue.data_version,
        summary__generator=generator_sha256(),
        complete=True,
        **by_model,
    ).first()


@lru_cache(maxsize=1)
def generator_sha256() -> str:
    """Hash of the code that makes datasets: other code may make another dataset of the same recipe."""
    here = Path(__file__).parent
    files = sorted([*here.glob("*.py"), *(here / "authoring").rglob("*.*[my]")])
    return hashlib.sha256(b"\0".join(path.read_bytes() for path in files)).hexdigest()


def _write_persona(dataset: Dataset, spec: PersonaSpec, scenarios: dict[str, Scenario]) -> None:
    content = canonical(spec)
    persona = Persona.objects.create(
        dataset=dataset,
        slug=spec.slug,
        name=spec.name,
        split=spec.split,
        background=content["background"],
        traits=content["traits"],
        states=content["states"],
        roles=content["background"]["tags"],
    )
    events = _write_events(persona, spec.events)
    tasks = Task.objects.bulk_create(
        Task(
            persona=persona,
            scenario=scenarios[task.scenario],
            slug=task.slug,
            request=task.request,
            as_of=task.as_of,
            context=task.context,
            tools=list(task.tools),
            world=task.world,
        )
        for task in spec.tasks
    )
    for task, task_spec in zip(tasks, spec.tasks, strict=True):
        _write_checkpoints(task, task_spec, events)


def _write_events(persona: Persona, specs: Sequence[EventSpec]) -> list[Event]:
    events = Event.objects.bulk_create(
        Event(
            persona=persona,
            position=position,
            occurred_at=event.occurred_at,
            channel=event.channel,
            text=event.text,
            text_sha256=text_sha256(event.text),
        )
        for position, event in enumerate(specs)
    )
    EventLabel.objects.bulk_create(
        EventLabel(event=row, role=e.role, dimension=e.dimension, value=e.value, group=e.group, why=e.why)
        for row, e in zip(events, specs, strict=True)
    )
    return events


def _write_checkpoints(task: Task, spec: TaskSpec, events: Sequence[Event]) -> None:
    checkpoints = Checkpoint.objects.bulk_create(
        Checkpoint(
            task=task,
            position=position,
            kind=c.kind,
            text=c.text,
            rule=c.rule,
            dimension=c.dimension,
            value=c.value,
            losing_values=list(c.losing_values),
            conflict=c.conflict,
            tier=c.tier,
            answer=c.answer,
            tolerance=c.tolerance,
        )
        for position, c in enumerate(spec.checkpoints)
    )
    through = Checkpoint.evidence.through
    through.objects.bulk_create(
        through(checkpoint_id=checkpoint.pk, event_id=events[position].pk)
        for checkpoint, c in zip(checkpoints, spec.checkpoints, strict=True)
        for position in c.evidence
    )
