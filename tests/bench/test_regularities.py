"""Habits that many records show together: typed answers with a tolerance, from the file to the grade."""

from __future__ import annotations

import re
import shutil
from datetime import date
from decimal import Decimal
from pathlib import Path
from random import Random

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st
from pydantic import ValidationError

from agents.contract import Evidence
from bench.audit.quiz import make_quiz
from bench.catalogue import Catalogue, CatalogueError, load_catalogue
from bench.catalogue.load import DATA
from bench.catalogue.regularities import LEAST_RECORDS, MACHINE, Regularity
from bench.catalogue.store import store_catalogue
from bench.generation.build import Recipe, write_dataset
from bench.generation.gates import check_dataset
from bench.generation.habits import agrees, offered, records, settle
from bench.generation.placing import Deck, Facts
from bench.generation.spec import TASKS_FROM_DAY, Habit, PersonaSpec, Tier
from bench.generation.validity.content import read_content
from bench.grading.settled import settled_share
from bench.models import AuditQuestion, Checkpoint, Dataset, Dimension, Task
from bench.reader import typed
from bench.runs.rehearsal import odds_without_history, play
from tests.kept import start_from

SHORT = "preferences that their gold events alone do not settle"
SPARE = "preferences that the history settles without their gold events"
MISSED = "checkpoints that the ideal reader misses with all gold evidence"


def content(**changed: object) -> dict[str, object]:
    text = {"channel": "bank", "text": "CARD {value} {cur} {ref}"}
    return {
        "slug": "lunch",
        "name": "Lunch",
        "question": "Up to what amount?",
        "answer": "amount",
        "rule": "most",
        "draw": [9, 16],
        "tolerance": 1.0,
        "texts": [
            {**text, "split": split, "text": f"{text['text']} {split} {n}"} for split in ("dev", "test") for n in "ab"
        ],
        "contrast": [{**text, "split": split, "text": f"OTHER {{amount:30-60}} {split}"} for split in ("dev", "test")],
        **changed,
    }  # fmt: skip


def regularity(**changed: object) -> Regularity:
    return Regularity.model_validate(content(**changed))


OF_TIME = {"answer": "time", "rule": "usual", "draw": ["06:00", "07:00"], "tolerance": 15}
OF_DAYS = {"answer": "weekday", "rule": "usual", "draw": ["mon", "tue", "thu"], "tolerance": 0}
OF_NUMBER = {"answer": "number", "rule": "usual", "draw": [2, 6], "tolerance": 0}


@pytest.mark.parametrize(
    ("changed", "fault"),
    [
        ({"draw": [16, 9]}, r"draw \[16.*, 9.*\] does not fit the answer 'amount'; such as \[9, 16\]"),
        ({"answer": "time"}, r"does not fit the answer 'time'; such as \[\"17:00\", \"20:30\"\]"),
        ({**OF_DAYS, "draw": ["mon", "someday"]}, r"does not fit the answer 'weekday'; such as \[mon, tue, thu\]"),
        ({**OF_DAYS, "tolerance": 1}, "a weekday has rule 'usual', no spread and tolerance 0"),
        ({"stray": 0.1}, "stray 0.1 goes with rule 'usual' alone, not with 'most'"),
        ({"records": [2, 30]}, r"records \[2, 30\] must be a range within 4 to 20"),
        ({"contrast": []}, "fewer than 1 texts of contrast for dev"),
        ({"texts": [{"channel": "bank", "text": "CARD {value}"}]}, "fewer than 2 texts for dev"),
        ({"texts": [{"channel": "bank", "text": "CARD {ref}"}]}, r"does not hold \{value\}"),
        ({"texts": [{"channel": "chat", "text": "paid {value}"}]}, "is of channel chat; machine: bank"),
    ],
)
def test_a_file_that_does_not_hold_up_is_refused_with_what_would_be_right(changed, fault):
    with pytest.raises(ValidationError, match=fault):
        regularity(**changed)


def write(root: Path, relative: str, **changed: object) -> None:
    path = root / relative
    found = yaml.safe_load(path.read_text())
    found.update(changed)
    path.write_text(yaml.safe_dump(found, allow_unicode=True))


@pytest.mark.parametrize(
    ("asked", "fault"),
    [
        (("dining.nothing", "limit", "{value}"), "dining.nothing: there is none; there are:"),
        (("dining.bill_alone", "guest", "{value}"), "parameter 'guest' is none of the committing call"),
        (("dining.bill_alone", "guests", "{value}"), "is decided by something else; take one"),
        (("home.first_light", "limit", "{value}"), "'limit' is number; time goes into string time"),
        (("dining.bill_alone", "limit", "It is so."), "does not contain {value}"),
        (("dining.bill_alone", "limit", "{value} {size}"), "uses slot 'size'"),
    ],
)
def test_a_scenario_that_asks_for_what_it_cannot_be_told_is_refused(tmp_path: Path, asked, fault):
    root = Path(shutil.copytree(DATA, tmp_path / "data"))
    reference, parameter, checkpoint = asked
    regularities = {reference: {"parameter": parameter, "checkpoint": checkpoint}}
    write(root, "dining/scenarios/book_table.yaml", regularities=regularities)
    with pytest.raises(CatalogueError) as error:
        load_catalogue(root, ("dining", "home"))
    assert fault in str(error.value)


def test_the_catalogue_counts_its_regularities_and_stores_their_question(db: None, catalogue: Catalogue):
    counts = store_catalogue(catalogue)
    assert counts["regularities"] == len(catalogue.regularities) > 2
    stored = Dimension.objects.current().exclude(answer="")
    assert {str(one) for one in stored} == set(catalogue.regularities)
    assert all(one.question and one.options == [] for one in stored)


def test_chance_is_the_share_of_own_values_that_the_best_guess_meets():
    """9 to 16 in steps of a half are 15 values, and within 1 of a guess lie 5; of three days a guess meets one."""
    assert regularity().chance == pytest.approx(5 / 15)
    assert regularity(**OF_DAYS).chance == pytest.approx(1 / 3)
    # 06:00 to 07:00 in steps of five minutes are 13 values, and within 15 minutes lie 7.
    assert regularity(**OF_TIME).chance == pytest.approx(7 / 13)


@pytest.mark.parametrize(
    ("changed", "shown", "value"),
    [
        ({}, ["9.80", "12.00", "11.50", "10.20"], "12.00"),
        ({"rule": "least"}, ["9.80", "12.00", "11.50", "10.20"], "9.80"),
        (OF_NUMBER, ["5", "5", "4", "5"], "5"),
        (OF_NUMBER, ["5", "5", "4", "4"], ""),  # as many of one as of the other
        (OF_TIME, ["06:52", "06:38", "06:45", "08:10", "06:44"], "06:45"),
        (OF_DAYS, ["Tuesday", "Tuesday", "Friday", "Tuesday"], "Tuesday"),
        ({}, ["9.80", "12.00", "11.50"], ""),  # three are no regularity
    ],
)
def test_records_are_put_together_by_the_rule(changed, shown, value):
    assert settle(regularity(**changed), shown) == value


@given(st.lists(st.sampled_from(["9.00", "12.00", "15.50"]), max_size=LEAST_RECORDS - 1))
def test_no_record_and_no_three_of_them_settle_anything(shown):
    assert settle(regularity(), shown) == ""


def test_an_answer_is_right_within_its_tolerance():
    assert agrees("amount", "12.9", "12.00", Decimal("1.0"))
    assert not agrees("amount", "13.1", "12.00", Decimal("1.0"))
    assert agrees("time", "00:05", "23:55", Decimal(10))
    assert not agrees("time", "06:31", "06:15", Decimal(15))
    assert agrees("weekday", "Tue", "Tuesday", Decimal(0))
    assert not agrees("weekday", "", "Tuesday", Decimal(0))


def dealt(found: Regularity, value: float, seed: int) -> list[float]:
    deck = Deck(Facts(set(), set()), "test", frozenset({"plain"}), Random(seed))
    return [
        float(one.value) for one in records(found, Habit("dining.lunch", value), deck, 1.0) if one.day < TASKS_FROM_DAY
    ]


@given(st.integers(0, 10_000), st.sampled_from([9.0, 12.5, 16.0]))
def test_the_answer_stands_before_the_first_task_and_hangs_on_no_single_record(seed, value):
    for rule, best in (("most", max), ("least", min)):
        early = dealt(regularity(rule=rule, spread=None), value, seed)
        assert len(early) >= LEAST_RECORDS
        assert best(early) == value
        early.remove(value)
        assert abs(best(early) - value) <= 1.0


@given(st.integers(0, 10_000))
def test_records_of_the_largest_lie_below_it_and_not_all_beside_it(seed):
    """Eight to twelve in a year, 65% of 12.50 being 8.13 (8.125)."""
    deck = Deck(Facts(set(), set()), "test", frozenset({"plain"}), Random(seed))
    found = records(regularity(), Habit("dining.lunch", 12.5), deck, 1.0)
    assert 8 <= len(found) <= 12
    assert all(8.12 <= float(one.value) <= 12.5 for one in found)
    assert len({one.text.text for one in found}) <= 2
    assert [one.day for one in found] == sorted(one.day for one in found)


def test_each_answer_is_combined_and_all_records_before_the_task_are_its_gold(
    starter: list[PersonaSpec], catalogue: Catalogue
):
    found = 0
    for persona in starter:
        for task in persona.tasks:
            for checkpoint in task.checkpoints:
                if not checkpoint.answer:
                    continue
                found += 1
                regular = catalogue.regularities[checkpoint.dimension]
                before = [
                    n for n, e in enumerate(persona.events)
                    if e.dimension == checkpoint.dimension and e.occurred_at < task.as_of
                ]  # fmt: skip
                assert list(checkpoint.evidence) == before
                assert checkpoint.tier == Tier.COMBINED
                assert all(persona.events[n].role == "regular" for n in before)
                assert all(persona.events[n].channel in MACHINE for n in before)
                said = settle(regular, [persona.events[n].value for n in before])
                assert agrees(checkpoint.answer, said, checkpoint.value, Decimal(str(checkpoint.tolerance)))
                assert checkpoint.value in checkpoint.text
    assert found > 20


def test_a_record_shows_its_value_in_its_words_its_hour_or_its_day(starter: list[PersonaSpec], catalogue: Catalogue):
    seen = set()
    for persona in starter:
        for event in (event for event in persona.events if event.role == "regular"):
            answer = catalogue.regularities[event.dimension].answer
            seen.add(answer)
            if answer == "weekday":
                assert f"{event.occurred_at:%A}" == event.value
            else:
                assert event.value in event.text
    assert {"amount", "time", "weekday"} <= seen


def test_records_of_the_same_look_that_do_not_belong_stand_beside_them(
    starter: list[PersonaSpec], catalogue: Catalogue
):
    look = re.compile(
        "|".join(
            ".+".join(map(re.escape, re.split(r"\{[^}]+\}", text.text)))
            for one in catalogue.regularities.values()
            for text in one.contrast
        )
    )
    for persona in (persona for persona in starter if persona.habits):
        regular = sum(event.role == "regular" for event in persona.events)
        beside = [e for e in persona.events if e.role == "everyday" and look.fullmatch(e.text)]
        assert regular / 4 <= len(beside) <= regular, [e.text for e in beside]


def test_the_tools_show_natural_types_and_nothing_to_invert(starter: list[PersonaSpec], catalogue: Catalogue):
    shown = {}
    for task in (task for persona in starter for task in persona.tasks if task.tools):
        schema = {}
        for tool in task.tools:
            schema |= tool["parameters"]["properties"] if tool["commits"] else {}
        for typed_ in catalogue.scenario(task.scenario).regularities.values():
            own = schema[typed_.parameter]
            shown[typed_.parameter] = {key: own[key] for key in own if key != "description"}
    days = ["Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday"]
    allowed = (
        {"type": ["number", "null"]},
        {"type": ["integer", "null"]},
        {"type": ["string", "null"], "format": "time"},
        {"type": ["string", "null"], "enum": [*days, None]},
    )
    assert len(shown) > 2
    assert all(schema in allowed for schema in shown.values())


@pytest.fixture
def dataset(db: None, catalogue: Catalogue, starter: list[PersonaSpec]) -> Dataset:
    """Two people who are asked for a time in a text, and two for anything in a call."""

    def make() -> Dataset:
        store_catalogue(catalogue)
        by_text, by_tool = ([p for p in starter if one & asked_in(p)] for one in ({("time", True)}, BY_TOOL))
        people = {p.slug: p for p in (*by_text[:2], *by_tool[:2])}
        return write_dataset(Recipe("habits", "starter", seed=1), catalogue, list(people.values()))

    return start_from("habits", make)


BY_TOOL = {(answer, False) for answer in ("amount", "number", "time", "weekday")}


def asked_in(persona: PersonaSpec) -> set[tuple[str, bool]]:
    """Of each checkpoint its kind of typed answer, and whether a text has to name it."""
    return {(c.answer, c.rule is None) for task in persona.tasks for c in task.checkpoints if c.answer}


def answers_of(dataset: Dataset) -> list[Checkpoint]:
    found = Checkpoint.objects.filter(task__persona__dataset=dataset).exclude(answer="")
    return list(found.select_related("task__scenario__domain", "task__persona").order_by("pk"))


def gate(dataset: Dataset, name: str) -> tuple[str, ...]:
    return next(gate.offenders for gate in check_dataset(dataset) if gate.name == name)


def named(checkpoint: Checkpoint) -> str:
    return f"{checkpoint.task.slug}: {checkpoint.text}"


@pytest.mark.parametrize("method", ["rag", "reminder", "oracle"])
def test_whoever_sees_the_gold_events_meets_the_answer_by_tool_and_by_text(dataset: Dataset, method: str):
    asked = answers_of(dataset)
    assert {c.rule is None for c in asked} == {True, False}
    for task in {checkpoint.task for checkpoint in asked}:
        assert [one.checkpoint.text for one in play(task, method, gold=True) if not one.passed] == []


def test_without_history_nobody_meets_an_answer_and_no_reader_of_options_is_asked(dataset: Dataset):
    for checkpoint in answers_of(dataset):
        assert odds_without_history(checkpoint.task)[checkpoint.pk] == 0.0
    dimensions = {question.dimension for question in read_content(dataset).questions}
    assert dimensions.isdisjoint({checkpoint.dimension for checkpoint in answers_of(dataset)})


def test_the_gates_hold_where_nothing_is_planted(dataset: Dataset):
    assert [gate.name for gate in check_dataset(dataset) if gate.blocks and not gate.passed] == []


def test_an_answer_of_which_too_few_records_are_gold_is_named(dataset: Dataset):
    checkpoint = answers_of(dataset)[0]
    kept = list(checkpoint.evidence.all())[: LEAST_RECORDS - 1]
    checkpoint.evidence.set(kept)
    broken = {gate.name: gate.offenders for gate in check_dataset(dataset) if gate.offenders}
    assert named(checkpoint) in broken[SHORT]
    assert named(checkpoint) in broken[MISSED]


def test_an_answer_that_follows_from_records_that_are_no_gold_is_named(dataset: Dataset):
    """One gold event of many: the others settle it without."""
    checkpoint = next(c for c in answers_of(dataset) if c.evidence.count() > LEAST_RECORDS + 1)
    checkpoint.evidence.set(list(checkpoint.evidence.all())[-1:])
    assert named(checkpoint) in gate(dataset, SPARE)


def test_an_answer_beyond_what_the_records_say_is_named(dataset: Dataset):
    checkpoint = next(c for c in answers_of(dataset) if c.answer == "time")
    hour, minute = checkpoint.value.split(":")
    Checkpoint.objects.filter(pk=checkpoint.pk).update(value=f"{(int(hour) + 1) % 24:02d}:{minute}")
    assert gate(dataset, SHORT) == (named(checkpoint),)


def test_a_text_is_judged_by_the_value_that_it_names():
    point = "The sheet says that the house is up at 06:40 on working days (within 15 minutes)."
    said = "The sheet says that the house is up at {} on working days."
    assert typed.judged(point, said.format("06:40")) == (True, "Here the text names 06:40.")
    assert typed.judged(point, said.format("06:55")) == (True, "Here the text names 06:55.")
    assert typed.judged(point, said.format("06:56")) == (False, "Here the text names 06:56.")
    assert typed.judged(point, said.format("06:40 or 08:30")) == (False, "Here the text names 06:40 and 08:30.")
    assert typed.judged(point, "The bins go out at 06:40.") == (False, "Here the text names no value.")
    assert typed.judged("The sheet is addressed to Robin.", said.format("06:40")) is None


def test_what_the_reader_says_of_a_habit_is_read_back(catalogue: Catalogue):
    for reference in catalogue.regularities:
        for value in ("12.50", "5", "06:40", "Tuesday"):
            assert typed.heard(f"[c3] {typed.said(reference, value)}") == (reference, value)
            assert typed.heard(f"> - {typed.said(reference, value)} [{date(2025, 6, 1)}]") == (reference, value)
    assert typed.heard("Seat: Aisle. Wants to get up.") is None


@pytest.mark.parametrize("place", [0, 1, 2])
@pytest.mark.parametrize(
    ("answer", "value", "tolerance", "values"),
    [
        ("amount", "16.00", 1.5, ("16.00 21.00 26.00", "11.00 16.00 21.00", "6.00 11.00 16.00")),
        ("number", "2", 0.0, ("2 3 4", "1 2 3", "1 2 3")),
        ("time", "06:40", 15.0, ("06:40 07:25 08:10", "05:55 06:40 07:25", "05:10 05:55 06:40")),
        ("weekday", "Sunday", 0.0, ("Sunday Tuesday Thursday", "Friday Sunday Tuesday", "Wednesday Friday Sunday")),
    ],
)
def test_a_quiz_offers_two_values_well_beyond_the_tolerance_of_the_right_one(answer, value, tolerance, values, place):
    found = offered(answer, value, tolerance, place)
    assert found == values[place].split()
    right = [agrees(answer, one, value, Decimal(str(2 * tolerance))) for one in found]
    assert right.count(True) == 1


def test_a_quiz_asks_for_a_habit_in_its_own_words_with_three_values(dataset: Dataset, catalogue: Catalogue):
    items = make_quiz(dataset, ["gold"], size=100, seed=1)
    asked = {row.public_id: row for row in AuditQuestion.objects.filter(checkpoint__in=answers_of(dataset))}
    shown = [question for item in items for question in item.questions if question.id in asked]
    assert len(shown) == len(answers_of(dataset))
    for question in shown:
        checkpoint = asked[question.id].checkpoint
        assert question.text == catalogue.regularities[checkpoint.dimension].question
        assert len({option.text for option in question.options}) == 3
        assert checkpoint.value in {option.text for option in question.options}
    places = {[v for _, v in asked[q.id].options].index(asked[q.id].checkpoint.value) for q in shown}
    assert len(places) > 1


def test_tasks_of_a_persona_without_the_habit_do_not_check_it(starter: list[PersonaSpec]):
    for persona in starter:
        own = {habit.regularity for habit in persona.habits}
        assert {c.dimension for t in persona.tasks for c in t.checkpoints if c.answer} <= own


def test_settled_counts_an_answer_that_the_shown_events_give(dataset: Dataset):
    checkpoint = answers_of(dataset)[0]
    task: Task = checkpoint.task
    preferences = task.checkpoints.filter(kind="preference").count()
    shown = [
        Evidence(event_id=str(e.pk), occurred_at=e.occurred_at, channel=e.channel, text=e.text, score=1.0)
        for e in checkpoint.evidence.all()
    ]
    assert settled_share(task, shown) == pytest.approx(1 / preferences)
    assert settled_share(task, shown[: LEAST_RECORDS - 1]) == 0.0
