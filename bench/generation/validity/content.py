"""A dataset as the shortcut readers see it: events with labels and preference checkpoints, read once."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from decimal import Decimal

from django.db.models import Prefetch

from bench.generation.validity.record import Record
from bench.models import Checkpoint, CheckpointKind, Dataset, Dimension, Event, Persona, Split, Task
from bench.reader.knowledge import catalogue


@dataclass(frozen=True)
class Question:
    """A preference checkpoint.

    ``options`` stand as they are listed to whoever acts: of an argument the tool's, of an item's field one for each
    item that fits the request, of a text the public descriptions. ``wanted`` is the right one, in the same words.
    ``items``: the fields that preferences decide, an item a row, where ``field`` is one of them.
    """

    name: str
    persona: str
    split: str
    as_of: datetime
    request: str
    facts: str
    dimension: str
    value: str
    options: tuple[str, ...]
    wanted: str
    field: str = ""
    items: tuple[Mapping[str, str], ...] = ()

    @property
    def chance(self) -> float:
        """One pick among the different options on offer."""
        return 1 / max(1, len(set(self.options)))


@dataclass(frozen=True)
class TypedQuestion:
    """A checkpoint that wants an amount, a number, a time or a weekday. ``chance``: of the best guess at anybody's."""

    name: str
    persona: str
    split: str
    regularity: str
    answer: str
    value: str
    tolerance: Decimal
    chance: float


@dataclass(frozen=True)
class Content:
    records: tuple[Record, ...]
    questions: tuple[Question, ...]
    descriptions: Mapping[str, Mapping[str, str]]  # dimension -> value -> public words
    worded: Mapping[tuple[str, str], str] = field(default_factory=dict)  # dimension, words of an option -> value
    typed: tuple[TypedQuestion, ...] = ()

    def records_of(self, split: str) -> list[Record]:
        return [record for record in self.records if record.split == split]

    def questions_of(self, split: str) -> list[Question]:
        return [question for question in self.questions if question.split == split]

    def left_by(self, record: Record, value: str) -> list[str]:
        """The values that a text leaves open which is about ``value``: it alone, or all but it."""
        if record.role != "against":
            return [value]
        return [other for other in self.descriptions.get(record.dimension, {}) if other != value]

    @property
    def dev(self) -> list[Question]:
        return self.questions_of(Split.DEV)

    @property
    def test(self) -> list[Question]:
        return self.questions_of(Split.TEST)


def read_content(dataset: Dataset) -> Content:
    """A handful of queries, whatever the dataset's size."""
    descriptions = descriptions_of(dataset)
    tasks = (
        Task.objects.of_dataset(dataset.pk)
        .select_related("persona")
        .prefetch_related(Prefetch("checkpoints", Checkpoint.objects.filter(retired=False)))
        .order_by("persona__slug", "slug")
    )
    questions = tuple(question for task in tasks for question in questions_of(task, descriptions).values())
    return Content(tuple(_records(dataset)), questions, descriptions, _worded(descriptions), tuple(_typed(dataset)))


def _typed(dataset: Dataset) -> Iterator[TypedQuestion]:
    asked = Checkpoint.objects.filter(task__persona__dataset=dataset).exclude(answer="").select_related("task__persona")
    for c in asked.order_by("task__slug", "position"):
        regularity = catalogue().regularities.get(c.dimension)
        if regularity is not None:
            yield TypedQuestion(
                f"{c.task.slug}: {c.text}", c.task.persona.slug, c.task.persona.split, c.dimension, c.answer, c.value,
                Decimal(str(c.tolerance)), regularity.chance,
            )  # fmt: skip


def _worded(descriptions: Mapping[str, Mapping[str, str]]) -> dict[tuple[str, str], str]:
    """Values by their public words and by those of all tools and items; of words that have changed nothing is known."""
    found = {(d, words): value for d, values in descriptions.items() for value, words in values.items()}
    for scenario in (scenario for data in catalogue().domains.values() for scenario in data.scenarios.values()):
        for decided in (*scenario.decided_parameters.values(), *scenario.decided_fields.values()):
            found |= {(decided.dimension or "", words): value for value, words in (decided.options or {}).items()}
    return found


def descriptions_of(dataset: Dataset) -> dict[str, dict[str, str]]:
    """Dimension -> value -> public words, in the dataset's own version."""
    found = Dimension.objects.filter(data_version=dataset.data_version).select_related("domain")
    return {d.reference: {o["slug"]: o["description"] for o in d.options} for d in found}


def _records(dataset: Dataset) -> Iterator[Record]:
    rows = Event.objects.filter(persona__dataset=dataset, label__isnull=False).order_by("persona__slug", "position")
    for persona, split, at, channel, text, role, dimension, value in rows.values_list(
        "persona__slug", "persona__split", "occurred_at", "channel", "text",
        "label__role", "label__dimension", "label__value",
    ):  # fmt: skip
        yield Record(persona, split, at, channel, text, role, dimension, value)


def questions_of(task: Task, descriptions: Mapping[str, Mapping[str, str]]) -> dict[int, Question]:
    """Checkpoint -> the question that it is. What wants a typed answer offers nothing to choose from and is none."""
    checkpoints = list(task.checkpoints.all())
    preferences = [c for c in checkpoints if c.kind == CheckpointKind.PREFERENCE and not c.answer]
    fields = {c.rule["item_field"] for c in preferences if c.rule and "item_field" in c.rule}
    items = tuple({name: str(item.get(name)) for name in fields} for item in _fitting(task, checkpoints))
    facts = _facts(task.persona)
    questions: dict[int, Question] = {}
    for checkpoint in preferences:
        offered, wanted, field = _offer(task, checkpoint, items, descriptions.get(checkpoint.dimension, {}))
        questions[checkpoint.pk] = Question(
            f"{task.slug}: {checkpoint.text}", task.persona.slug, task.persona.split, task.as_of, task.request, facts,
            checkpoint.dimension, checkpoint.value, offered, wanted, field, items if field else (),
        )  # fmt: skip
    return questions


def _offer(
    task: Task, checkpoint: Checkpoint, items: tuple[Mapping[str, str], ...], described: Mapping[str, str]
) -> tuple[tuple[str, ...], str, str]:
    """Options, the wanted one, and the item's field where it is one."""
    rule = checkpoint.rule
    if rule is None:
        return tuple(described.values()), described.get(checkpoint.value, ""), ""
    wanted = str(rule["equals"])
    if "item_field" in rule:
        field = str(rule["item_field"])
        return tuple(item[field] for item in items), wanted, field
    taken = {
        name: one for tool in task.tools if tool["commits"] for name, one in tool["parameters"]["properties"].items()
    }
    listed = taken[rule["argument"]]["enum"]
    return tuple(str(option) for option in listed if option is not None), wanted, ""


def _fitting(task: Task, checkpoints: list[Checkpoint]) -> list[Mapping[str, object]]:
    """The items that meet what the request fixes."""
    rules = [c.rule for c in checkpoints if c.kind == CheckpointKind.TASK and c.rule and "item_field" in c.rule]
    items: list[Mapping[str, object]] = list(task.world.get("items", ()))
    return [item for item in items if all(str(item.get(r["item_field"])) == str(r["equals"]) for r in rules)]


def _facts(persona: Persona) -> str:
    """Everything that stands of the person besides name and history, as one text; a number is a word."""
    parts: list[str] = []
    for name, fact in sorted(persona.background.items()):
        if name not in ("slug", "name"):
            parts += map(str, fact) if isinstance(fact, list) else [str(fact)]
    return " ".join(parts)
