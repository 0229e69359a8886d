"""What retrieved events settle, on the real catalogue's tiny dataset."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable

import pytest

from agents.contract import Evidence
from bench.catalogue import Catalogue
from bench.catalogue.store import store_catalogue
from bench.generation.build import Recipe, generate, write_dataset
from bench.grading.settled import settled_share
from bench.models import Checkpoint, Dataset, Event, Task
from tests.kept import start_from


@pytest.fixture
def dataset(db: None, catalogue: Catalogue) -> Dataset:
    def make() -> Dataset:
        store_catalogue(catalogue)
        recipe = Recipe("settled", "tiny", seed=7)
        return write_dataset(recipe, catalogue, generate(catalogue, recipe))

    return start_from("settled", make)


def preferences(task: Task) -> list[Checkpoint]:
    return list(task.checkpoints.filter(kind="preference"))


def read(events: Iterable[Event]) -> tuple[Evidence, ...]:
    return tuple(Evidence(str(e.pk), e.occurred_at, e.channel, e.text) for e in events)


def gold(*checkpoints: Checkpoint) -> tuple[Evidence, ...]:
    return read(Event.objects.filter(pk__in={e.pk for c in checkpoints for e in c.evidence.all()}))


def test_the_gold_events_settle_every_preference_and_nothing_settles_none(dataset: Dataset):
    tasks = Task.objects.of_dataset(dataset.pk)
    assert {settled_share(task, gold(*preferences(task))) for task in tasks} == {1.0}
    assert {settled_share(task, ()) for task in tasks} == {0.0}


def test_the_gold_of_one_preference_settles_that_one_alone(dataset: Dataset):
    shares = Counter[tuple[float, float]]()
    for task in Task.objects.of_dataset(dataset.pk):
        of_task = preferences(task)
        for one in of_task:
            also = sum(set(other.evidence.all()) <= set(one.evidence.all()) for other in of_task)
            shares[settled_share(task, gold(one)) or 0.0, also / len(of_task)] += 1
    assert all(share == alone for share, alone in shares), shares


def test_events_that_show_something_else_settle_nothing(dataset: Dataset):
    task = Task.objects.of_dataset(dataset.pk).first()
    others = Event.objects.filter(persona=task.persona, label__role="everyday")
    assert others.exists()
    assert settled_share(task, read(others)) == 0.0


def test_what_an_event_would_show_counts_only_where_it_was_read(dataset: Dataset):
    task = Task.objects.of_dataset(dataset.pk).first()
    told = gold(*preferences(task))
    unread = tuple(Evidence(e.event_id, e.occurred_at, e.channel, "(cut)") for e in told)
    assert settled_share(task, unread) == 0.0


def test_a_task_without_preferences_has_no_share(dataset: Dataset):
    task = Task.objects.of_dataset(dataset.pk).first()
    task.checkpoints.filter(kind="preference").delete()
    assert settled_share(task, ()) is None
