"""Preferences that no single event settles."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from random import Random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from agents.contract import ConstraintStatus, Limits, Polarity
from agents.registry import resolve as resolve_method
from bench.catalogue import Catalogue, Text
from bench.catalogue.load import DomainData
from bench.catalogue.schema import Dimension
from bench.catalogue.store import store_catalogue
from bench.catalogue.texts import Channel
from bench.generation.build import Recipe, digest, generate, summarise, write_dataset
from bench.generation.people import draw_person
from bench.generation.resolve import Shown, choose, life_shown, resolve
from bench.generation.spec import Conflict, EventSpec, PersonaSpec, Tier, Trait
from bench.models import Checkpoint, Task
from bench.reader.faults import Dials
from bench.reader.knowledge import dimensions, sentence
from bench.reader.labels import meanings
from bench.reader.prompt import read
from bench.reader.view import View, note, noted
from bench.runs.inputs import search_for, task_input
from bench.runs.rehearsal import ReaderHere, play
from bench.runs.world import world_of

NOON = datetime(2025, 10, 10, 12, tzinfo=UTC)


def with_against(catalogue: Catalogue) -> Catalogue:
    """The catalogue with five plain texts against each value, two for dev and three for test."""

    def filled(domain: str, dimension: Dimension) -> Dimension:
        values = tuple(
            value.model_copy(
                update={
                    "against": tuple(
                        Text(channel=Channel.NOTE, text=f"{domain} {dimension.slug}: {value.slug} is out, {n}")
                        for n in range(5)
                    )
                }
            )
            for value in dimension.values
        )
        return dimension.model_copy(update={"values": values})

    def of(domain: str, data: DomainData) -> DomainData:
        return replace(data, dimensions={slug: filled(domain, d) for slug, d in data.dimensions.items()})

    return replace(catalogue, domains={slug: of(slug, data) for slug, data in catalogue.domains.items()})


@pytest.fixture(scope="module")
def outspoken(catalogue: Catalogue) -> Catalogue:
    return with_against(catalogue)


@pytest.fixture(scope="module")
def starter(outspoken: Catalogue) -> list[PersonaSpec]:
    return generate(outspoken, Recipe("starter", "starter", seed=1))


def shown(event: EventSpec) -> Shown:
    return Shown(event.occurred_at.date(), event.role, event.dimension, event.value, event.group)


def value_from(events: list[EventSpec], dimension: str, catalogue: Catalogue) -> str:
    """What a reader of these events concludes on a day on which no state is on; "" where it stays open."""
    trait, _ = life_shown(map(shown, events), dimension, catalogue)
    day = (NOON + timedelta(days=900)).date()
    choice = choose(trait, (), dimension, today=day, day=day, context="")
    return choice.value if choice else ""


def combined(personas: list[PersonaSpec]):
    for persona in personas:
        for task in persona.tasks:
            for checkpoint in task.checkpoints:
                if checkpoint.tier == Tier.COMBINED and not checkpoint.answer:
                    yield checkpoint, [persona.events[n] for n in checkpoint.evidence]


def test_texts_against_every_other_value_leave_one_and_fewer_sides_leave_it_open(
    starter: list[PersonaSpec], outspoken: Catalogue
):
    found = list(combined(starter))
    assert len(found) > 100
    for checkpoint, events in found:
        others = {v.slug for v in outspoken.dimension(checkpoint.dimension).values} - {checkpoint.value}
        assert {event.value for event in events} == others
        assert {event.role for event in events} == {"against"}
        assert value_from(events, checkpoint.dimension, outspoken) == checkpoint.value
        for side in others:
            rest = [event for event in events if event.value != side]
            assert value_from(rest, checkpoint.dimension, outspoken) == ""
        for event in events:
            assert value_from([event], checkpoint.dimension, outspoken) == ""


def test_a_life_holds_no_cue_for_what_only_exclusion_shows(starter: list[PersonaSpec]):
    for persona in starter:
        for trait in (trait for trait in persona.traits if trait.ruled_out):
            events = [event for event in persona.events if event.dimension == trait.dimension]
            assert {event.role for event in events} <= {"against", "distractor"}
            assert trait.value not in {event.value for event in events if event.role == "against"}
            sides = Counter(event.value for event in events if event.role == "against")
            assert all(count in (1, 2) for count in sides.values())


def test_at_least_a_quarter_of_the_preference_checkpoints_need_several_events(starter: list[PersonaSpec]):
    tiers = summarise(starter)["tiers"]
    assert tiers["combined"] / sum(tiers.values()) >= 0.25


def test_every_preference_checkpoint_has_a_tier_and_no_other_has(starter: list[PersonaSpec]):
    for task in (task for persona in starter for task in persona.tasks):
        for checkpoint in task.checkpoints:
            assert (checkpoint.tier in set(Tier)) == (checkpoint.kind == "preference")


def test_without_texts_against_the_values_every_preference_has_cues(catalogue: Catalogue):
    personas = generate(without_against(catalogue), Recipe("t", "tiny", seed=3))
    assert not [trait for persona in personas for trait in persona.traits if trait.ruled_out]
    assert not list(combined(personas))


def without_against(catalogue: Catalogue) -> Catalogue:
    def bare(dimension: Dimension) -> Dimension:
        values = tuple(value.model_copy(update={"against": ()}) for value in dimension.values)
        return dimension.model_copy(update={"values": values})

    domains = {
        slug: replace(data, dimensions={s: bare(d) for s, d in data.dimensions.items()})
        for slug, data in catalogue.domains.items()
    }
    return replace(catalogue, domains=domains)


@settings(max_examples=8)
@given(st.integers(0, 10_000))
def test_the_same_seed_rules_out_the_same_values_by_the_same_texts(outspoken: Catalogue, seed: int):
    recipe = Recipe("t", "tiny", seed=seed)
    first, again = generate(outspoken, recipe), generate(outspoken, recipe)
    assert digest(first) == digest(again)
    for checkpoint, events in combined(first):
        for event in events:
            assert value_from([event], checkpoint.dimension, outspoken) == ""
        assert value_from(events, checkpoint.dimension, outspoken) == checkpoint.value


def out(days_before: int, value: str) -> EventSpec:
    return EventSpec(
        NOON - timedelta(days=days_before), "note", f"no {value} {days_before}", "against", "dining.spice", value
    )


def life(catalogue: Catalogue, trait: Trait, *events: EventSpec) -> PersonaSpec:
    person = draw_person(catalogue, 0, set(), Random(1))
    return PersonaSpec("p", "P", person, "test", ("dining",), (trait,), (), events)


def test_two_values_out_leave_the_third_and_all_texts_against_them_are_the_gold(catalogue: Catalogue):
    """Of three values two are out, one of them twice: three gold events; a fourth text comes later."""
    held, *others = [value.slug for value in catalogue.dimension("dining.spice").values]
    trait = Trait("dining.spice", held, ruled_out=tuple(others))
    persona = life(catalogue, trait, out(90, others[0]), out(50, others[1]), out(20, others[0]), out(-5, others[1]))
    found = resolve(persona, "dining.spice", as_of=NOON, day=NOON.date(), context="")
    assert found is not None
    assert (found.value, found.evidence, found.losing) == (held, (0, 1, 2), ())
    assert (found.conflict, found.tier) == (Conflict.NONE, Tier.COMBINED)
    early = NOON - timedelta(days=60)  # only the first is known by then
    assert resolve(persona, "dining.spice", as_of=early, day=early.date(), context="") is None


@given(st.lists(st.integers(0, 2), max_size=6))
def test_exclusions_settle_a_value_only_where_one_is_left(catalogue: Catalogue, sides: list[int]):
    values = [value.slug for value in catalogue.dimension("dining.spice").values]
    assert len(values) == 3
    events = [out(40 - n, values[side]) for n, side in enumerate(sides)]
    left = set(values) - {values[side] for side in sides}
    assert value_from(events, "dining.spice", catalogue) == (left.pop() if len(left) == 1 else "")


@pytest.mark.django_db
def test_the_ideal_reader_solves_everything_from_the_gold_events_and_loses_a_side_with_it(outspoken: Catalogue):
    store_catalogue(outspoken)
    recipe = Recipe("outspoken", "tiny", seed=7)
    dataset = write_dataset(recipe, outspoken, generate(outspoken, recipe))
    tasks = Task.objects.of_dataset(dataset.pk).select_related("scenario__domain").prefetch_related("checkpoints")
    for method in ("rag", "iba"):
        played = [one for task in tasks for one in play(task, method, gold=True)]
        assert [one.checkpoint.text for one in played if not one.passed] == []
    asked = Checkpoint.objects.filter(task__persona__dataset=dataset, tier="combined", answer="").select_related("task")
    assert asked.count() > 5
    for checkpoint in asked:
        lines = [f"{e.occurred_at:%Y-%m-%d} {e.channel}: {e.text}" for e in checkpoint.evidence.all()]
        sides = dict(zip(lines, checkpoint.evidence.values_list("label__value", flat=True), strict=True))
        assert settled(lines, checkpoint) == checkpoint.value
        for side in set(sides.values()):
            assert settled([line for line in lines if sides[line] != side], checkpoint) == ""


@pytest.mark.django_db
@pytest.mark.parametrize("method", ["rag", "iba", "reminder"])
def test_what_was_seen_to_be_out_is_never_served_whoever_the_method_is(outspoken: Catalogue, method: str):
    """Of each combined preference one side is seen. The text must not serve it, and IBA must say so in a constraint."""
    store_catalogue(outspoken)
    recipe = Recipe("outspoken", "tiny", seed=7)
    dataset = write_dataset(recipe, outspoken, generate(outspoken, recipe))
    asked = Checkpoint.objects.filter(task__persona__dataset=dataset, tier="combined", answer="", rule__isnull=True)
    assert asked.count() > 2
    for checkpoint in asked.select_related("task__scenario__domain", "task__persona__dataset"):
        out = checkpoint.evidence.earliest("pk").label.value
        checkpoint.evidence.remove(*checkpoint.evidence.exclude(label__value=out))
        spec, task = resolve_method(method), checkpoint.task
        search = search_for(replace(spec, uses_gold=True), task)
        course = spec.function(
            task_input(task), llm=ReaderHere(), search=search, call_tool=world_of(task), limits=Limits()
        )
        assert course.action.text.count(f"{sentence(checkpoint.dimension, out)} ") == 0
        if method != "rag":
            said = [c for c in course.constraints if c.text == f"Ruled out: {sentence(checkpoint.dimension, out)}"]
            assert [c.status for c in said] == [ConstraintStatus.ACTIVE if method == "iba" else said[0].status]
            assert method == "reminder" or said[0].polarity == Polarity.AGAINST


@pytest.mark.parametrize("section", ["Constraints", "Profile"])
def test_constraints_and_notes_rule_values_out_and_two_leave_the_third(section: str):
    out = [f"Ruled out: {sentence('travel.seat', value)}" for value in ("window", "aisle")]
    lines = {
        "Constraints": [f"[c{n}] {text}" for n, text in enumerate(out, 1)],
        "Profile": [f"> {text} [2025-10-01]" for text in out],
    }[section]
    values = [value.slug for value in dimensions()["travel.seat"].values]
    assert likely(section, lines[:1]) == [value for value in values if value != "window"]
    assert likely(section, lines) == [value for value in values if value not in ("window", "aisle")]


def likely(section: str, lines: list[str]) -> list[str]:
    text = "\n".join([f"## {section}", *lines])
    return View(read([{"role": "user", "content": text}]), Dials(), lambda _: {}).likely("travel.seat")


def settled(lines: list[str], checkpoint: Checkpoint) -> str:
    """What the reader takes from these lines of a history."""
    evidence = "\n".join(f"[e{n}] {line}" for n, line in enumerate(lines, 1))
    request = f"## Request\n{checkpoint.task.request}\n\n## Now\n{checkpoint.task.as_of:%A %Y-%m-%d}\n\n"
    view = View(read([{"role": "user", "content": f"{request}## Evidence\n{evidence}"}]), Dials(), meanings)
    return view.settled(checkpoint.dimension)


def test_notes_on_what_is_out_are_read_back():
    line = note(Shown(NOON.date(), "against", "dining.spice", "mild", ""))
    assert line.startswith("Ruled out: ")
    assert noted(f"> {line}") == Shown(NOON.date(), "against", "dining.spice", "mild", "")
