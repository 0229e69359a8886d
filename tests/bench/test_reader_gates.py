"""Gates that rest on the ideal reader: gold evidence solves every task, and without history there is only chance."""

from __future__ import annotations

import pytest

from bench.generation.gates import Gate, check_dataset
from bench.generation.spec import Tier
from bench.models import Checkpoint, CheckpointKind, Dataset, Task
from bench.runs.rehearsal import odds_without_history, play

pytestmark = pytest.mark.django_db

SOLVED = "checkpoints that the ideal reader misses with all gold evidence"
SETTLED = "preferences that the ideal reader settles without history"
CHANCE = "preference satisfaction of the ideal reader without history"


def tasks_of(dataset: Dataset) -> list[Task]:
    return list(Task.objects.of_dataset(dataset.pk).prefetch_related("checkpoints"))


def preferences_of(task: Task) -> list[Checkpoint]:
    return [c for c in task.checkpoints.all() if c.kind == CheckpointKind.PREFERENCE]


def plain(task: Task) -> list[Checkpoint]:
    """Preferences that any one of their gold events tells."""
    return [c for c in preferences_of(task) if c.tier == Tier.DIRECT and not c.conflict]


def tell(task: Task, checkpoint: Checkpoint) -> None:
    task.request = f"{task.request} As I said: {checkpoint.evidence.first().text}"
    task.save()


def broken(dataset: Dataset) -> dict[str, Gate]:
    return {gate.name: gate for gate in check_dataset(dataset) if not gate.passed}


def test_a_task_whose_evidence_does_not_settle_it_is_named(tiny):
    lost = set()
    for task in tasks_of(tiny):
        # One that is contested has the events of others too; what nothing settles is guessed, and a third of it right.
        others = [c for c in preferences_of(task) if c.tier != Tier.CONTESTED and c not in plain(task)[:1]]
        if plain(task) and others:
            plain(task)[0].evidence.set(others[0].evidence.all())
            lost.add(f"{task.slug}: {plain(task)[0].text}")
    found = broken(tiny)
    assert found[SOLVED].value > 0
    assert set(found[SOLVED].offenders) <= lost
    assert not {SETTLED, CHANCE} & found.keys()


def test_one_request_that_says_what_the_history_should_is_named(tiny):
    """The whole is within 3 points of chance then: one of many tasks tells one of its preferences."""
    task = next(task for task in tasks_of(tiny) if plain(task))
    told = plain(task)[0]
    tell(task, told)
    assert broken(tiny)[SETTLED].offenders == (f"{task.slug}: {told.text}",)


def test_requests_that_tell_break_the_gate_of_chance(tiny):
    telling = [task for task in tasks_of(tiny) if plain(task)]
    for task in telling:
        tell(task, plain(task)[0])
    found = broken(tiny)
    assert CHANCE in found
    assert found[SETTLED].value >= len(telling)


def test_items_of_which_most_are_right_break_the_gate_of_chance(tiny):
    for task in tasks_of(tiny):
        rules = [c.rule for c in preferences_of(task) if c.rule and "item_field" in c.rule]
        for number, item in enumerate(task.world.get("items", [])):
            for rule in rules if number % 10 else ():
                item[rule["item_field"]] = rule["equals"]
        task.save()
    assert CHANCE in broken(tiny)


def test_the_odds_of_a_preference_are_its_share_of_what_the_reader_draws_from(tiny):
    task = next(task for task in tasks_of(tiny) if any("item_field" in (c.rule or {}) for c in preferences_of(task)))
    odds = odds_without_history(task)
    for checkpoint in preferences_of(task):
        if checkpoint.answer:
            assert odds[checkpoint.pk] == 0  # nobody offers values to guess among
        elif "argument" in checkpoint.rule:
            commit = next(tool for tool in task.tools if tool["commits"])
            listed = commit["parameters"]["properties"][checkpoint.rule["argument"]]["enum"]
            assert odds[checkpoint.pk] == 1 / (len(listed) - 1)  # null is allowed and never drawn
        else:
            fixed = [c.rule for c in task.checkpoints.all() if c.kind == CheckpointKind.TASK and "item_field" in c.rule]
            fitting = [i for i in task.world["items"] if all(str(i[r["item_field"]]) == r["equals"] for r in fixed)]
            right = [item for item in fitting if item[checkpoint.rule["item_field"]] == checkpoint.rule["equals"]]
            assert odds[checkpoint.pk] == len(right) / len(fitting)


def test_a_pick_without_history_meets_what_its_odds_say(tiny):
    """Over all preferences, within four deviations of a share (0.5 / sqrt(n))."""
    played = [p for task in tasks_of(tiny) for p in play(task, "no_history")]
    met = [p.passed for p in played if p.checkpoint.kind == CheckpointKind.PREFERENCE]
    odds = [value for task in tasks_of(tiny) for value in odds_without_history(task).values()]
    assert sum(met) / len(met) == pytest.approx(sum(odds) / len(odds), abs=4 * 0.5 / len(met) ** 0.5)


def test_the_oracle_meets_every_checkpoint_with_the_ideal_reader(tiny):
    assert [p.checkpoint.text for task in tasks_of(tiny) for p in play(task, "oracle") if not p.passed] == []
