"""Two preferences that no item meets at once: records show which one goes first, and nothing else does."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from datetime import date

import pytest

from bench.catalogue import Catalogue
from bench.catalogue.store import store_catalogue
from bench.generation.build import Recipe, generate, summarise, write_dataset
from bench.generation.gates import check_dataset
from bench.generation.resolve import Shown
from bench.generation.spec import CheckpointSpec, Order, PersonaSpec, TaskSpec, Tier
from bench.generation.validity.contested import contested_of
from bench.generation.validity.mix import shares
from bench.models import Checkpoint, Dataset, Task
from bench.reader.orders import heard, insisted, orders_in, said
from bench.reader.view import note, noted
from bench.reader.words import told
from bench.runs.rehearsal import play
from tests.kept import start_from

GATE = "contested preferences that records do not settle, or that something else does"
PAIR = ("travel.transport", "travel.quiet_zone")


Asked = tuple[PersonaSpec, TaskSpec, CheckpointSpec, Order]


def contested(personas: list[PersonaSpec]) -> Iterator[Asked]:
    for persona in personas:
        for task in persona.tasks:
            for checkpoint in task.checkpoints:
                if checkpoint.tier == Tier.CONTESTED:
                    groups = {e.group for n in checkpoint.evidence if (e := persona.events[n]).role == "record"}
                    order = next(o for o in persona.orders if o.kept == checkpoint.dimension and o.given_up in groups)
                    yield persona, task, checkpoint, order


def option_of(catalogue: Catalogue, task: TaskSpec, persona: PersonaSpec, dimension: str) -> tuple[str, str]:
    """The field that a preference decides, and the option that meets it."""
    trait = persona.trait(dimension)
    assert trait is not None
    fields = catalogue.scenario(task.scenario).decided_fields
    name, field = next((n, f) for n, f in fields.items() if f.dimension == dimension)
    return name, (field.options or {})[trait.value]


def test_a_fifth_of_the_preferences_are_contested_and_neither_split_has_much_less(starter: list[PersonaSpec]):
    for people, least in ((("dev", "test"), 0.20), (("dev",), 0.18), (("test",), 0.20)):
        tiers = summarise([persona for persona in starter if persona.split in people])["tiers"]
        assert tiers["contested"] / sum(tiers.values()) >= least


def test_no_item_has_both_and_each_option_is_as_frequent_as_every_other(
    starter: list[PersonaSpec], catalogue: Catalogue
):
    found = list(contested(starter))
    assert len(found) > 100
    for persona, task, _, order in found:
        kept, given_up = (option_of(catalogue, task, persona, d) for d in (order.kept, order.given_up))
        here = {c.rule["item_field"]: c.rule["equals"] for c in task.checkpoints
                if c.kind == "task" and "item_field" in (c.rule or {})}  # fmt: skip
        rows = [r for r in task.world["items"] if all(str(r[f]) == str(v) for f, v in here.items())]
        assert not [row for row in rows if (row[kept[0]], row[given_up[0]]) == (kept[1], given_up[1])]
        for name, option in (kept, given_up):
            counts = Counter(row[name] for row in rows)
            assert option in counts
            assert len(set(counts.values())) == 1


def test_what_gives_way_is_not_checked_and_the_gold_has_two_records_of_it(starter: list[PersonaSpec]):
    for persona, task, checkpoint, order in contested(starter):
        assert order.given_up not in {c.dimension for c in task.checkpoints}
        gold = [persona.events[n] for n in checkpoint.evidence]
        assert sum(event.role == "record" and event.group == order.given_up for event in gold) == 2
        assert {order.kept, order.given_up} <= {event.dimension for event in gold}


def test_each_of_two_dimensions_goes_first_in_some_lives(starter: list[PersonaSpec]):
    ways = Counter((order.kept, order.given_up) for persona in starter for order in persona.orders)
    both = [pair for pair in ways if pair[::-1] in ways]
    assert len(both) > 10


def test_as_many_records_show_nothing_and_are_of_choices_in_which_the_person_holds_nothing(
    starter: list[PersonaSpec], catalogue: Catalogue
):
    """Noise is half of a history, so of the records too; a few find no day. What they never named would be told."""
    shapes = record_openings(catalogue)
    telling = idle = 0
    for persona in starter:
        held = {t.dimension for t in persona.traits} | {e.dimension for p in persona.states for e in p.state.effects}
        options = [
            option
            for data in catalogue.domains.values()
            for scenario in data.scenarios.values()
            for field in scenario.decided_fields.values()
            if field.dimension in held
            for option in (field.options or {}).values()
        ]
        for event in persona.events:
            telling += event.role == "record"
            if event.role == "everyday" and "; " in event.text and event.text.startswith(shapes):
                idle += 1
                assert not [one for one in options if f"{one};" in event.text or f"; {one}" in event.text]
    assert 0.8 <= idle / telling <= 1.2


def test_distractors_look_like_what_holds_as_often_as_like_anything_else(
    starter: list[PersonaSpec], catalogue: Catalogue
):
    """Over values that a distractor of the split looks like; those of a dimension come once before one comes twice."""
    agreeing = expected = 0.0
    for persona in starter:
        drawn = [event for event in persona.events if event.role == "distractor"]
        for event in drawn:
            trait = persona.trait(event.dimension)
            if trait and not trait.when and not trait.was:
                agreeing += event.value == trait.value
                expected += 1 / len(catalogue.dimension(event.dimension).values)
        counts = Counter((event.dimension, event.value) for event in drawn)
        assert max(counts.values()) == 1
    assert 0.7 <= agreeing / expected <= 1.3


def record_openings(catalogue: Catalogue) -> tuple[str, ...]:
    """How records begin, before their first slot."""
    items = [s.items for d in catalogue.domains.values() for s in d.scenarios.values() if s.items]
    return tuple(record.text.split("{")[0] for one in items for record in one.record)


def test_an_order_is_read_back_and_names_no_value():
    text = said(PAIR)
    assert heard(f"[c1] {text}") == PAIR
    assert told(text, PAIR) == []
    shown = Shown(date(2025, 6, 1), "record", PAIR[0], "train", PAIR[1])
    back = noted(note(shown))
    assert back is not None
    assert orders_in([back], []) == {PAIR} == orders_in([shown], [text])


def test_orders_that_are_shown_both_ways_say_nothing():
    shown = [Shown(date(2025, 6, 1), "record", a, "", b) for a, b in (PAIR, PAIR[::-1])]
    assert orders_in(shown, []) == frozenset()


def test_a_preference_gives_way_only_where_nothing_meets_both():
    wanted, fields = {"by": "train", "coach": "quiet"}, {"by": PAIR[0], "coach": PAIR[1]}
    apart = [{"by": "train", "coach": "any"}, {"by": "car", "coach": "quiet"}]
    assert insisted(wanted, fields, apart, frozenset({PAIR})) == {"by": "train"}
    assert insisted(wanted, fields, apart, frozenset({PAIR[::-1]})) == {"coach": "quiet"}
    assert insisted(wanted, fields, apart, frozenset()) == wanted
    assert insisted(wanted, fields, [*apart, dict(wanted)], frozenset({PAIR})) == wanted


@pytest.fixture
def dataset(db: None, catalogue: Catalogue) -> Dataset:
    def make() -> Dataset:
        store_catalogue(catalogue)
        recipe = Recipe("contested", "tiny", seed=7)
        return write_dataset(recipe, catalogue, generate(catalogue, recipe))

    return start_from("contested", make)


def asked_of(dataset: Dataset) -> list[Checkpoint]:
    found = Checkpoint.objects.filter(task__persona__dataset=dataset, tier="contested")
    return list(found.select_related("task__scenario__domain").prefetch_related("evidence").order_by("pk"))


def test_records_settle_which_goes_first_and_without_them_it_is_even(dataset: Dataset):
    tried = contested_of(asked_of(dataset))
    assert len(tried) > 3
    assert {(one.with_gold, one.without_records) for one in tried} == {(1.0, 0.5)}


@pytest.mark.parametrize("method", ["rag", "iba", "reminder"])
def test_methods_that_see_the_gold_events_let_the_right_one_go_first(dataset: Dataset, method: str):
    for task in {checkpoint.task for checkpoint in asked_of(dataset)}:
        assert [one.checkpoint.text for one in play(task, method, gold=True) if not one.passed] == []


def offenders(dataset: Dataset) -> tuple[str, ...]:
    return next(gate.offenders for gate in check_dataset(dataset) if gate.name == GATE)


def test_a_contested_preference_whose_records_are_lost_is_named(dataset: Dataset):
    assert offenders(dataset) == ()
    lost = asked_of(dataset)[0]
    lost.evidence.remove(*lost.evidence.filter(label__role="record"))
    assert offenders(dataset) == (f"{lost.task.slug}: {lost.text}",)


def test_an_item_that_meets_both_is_named_since_no_records_are_needed_then(dataset: Dataset):
    checkpoint = asked_of(dataset)[0]
    task, gold = checkpoint.task, checkpoint.evidence.filter(label__role="record")
    given_up = gold.values_list("label__group", flat=True)[0]
    held = next(t["value"] for t in task.persona.traits if t["dimension"] == given_up)
    fields = _catalogue_fields(task)
    name, option = next((n, options[held]) for n, (dimension, options) in fields.items() if dimension == given_up)
    for item in task.world["items"]:
        if item[checkpoint.rule["item_field"]] == checkpoint.rule["equals"]:
            item[name] = option
    task.save()
    assert f"{task.slug}: {checkpoint.text}" in offenders(dataset)


def _catalogue_fields(task: Task) -> dict[str, tuple[str, dict[str, str]]]:
    from bench.reader.knowledge import catalogue as known

    fields = known().scenario(f"{task.scenario.domain.slug}.{task.scenario.slug}").decided_fields
    return {name: (field.dimension or "", dict(field.options or {})) for name, field in fields.items()}


def of_kinds(*kinds: tuple[str, str, int]) -> list[Checkpoint]:
    return [Checkpoint(tier=tier, conflict=conflict) for tier, conflict, count in kinds for _ in range(count)]


def test_a_tier_or_a_conflict_of_which_there_is_too_little_is_named():
    """Of 200: 25% is 50, 20% is 40, 5% is 10."""
    conflicts = ("override", "cross", "expired", "drift", "conditional")
    enough = of_kinds(("combined", "", 50), ("contested", "", 40), *(("direct", c, 10) for c in conflicts))
    enough += of_kinds(("direct", "", 60))
    assert [name for name, share, least in shares(enough) if share < least] == []
    for place, name in ((0, "combined"), (50, "contested"), (90, "override"), (100, "cross")):
        fewer = [*enough[:place], *of_kinds(("direct", "", 1)), *enough[place + 1 :]]
        broken = [found for found, share, least in shares(fewer) if share < least]
        assert len(broken) == 1
        assert name in broken[0]
    assert list(shares(enough[:199])) == []
