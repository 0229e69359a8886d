from __future__ import annotations

from collections import Counter, defaultdict
from dataclasses import replace
from datetime import UTC, date, datetime, timedelta
from functools import partial
from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bench.catalogue import Catalogue, Text
from bench.catalogue.episodes import Episode
from bench.catalogue.texts import TEXT_SLOT, Channel
from bench.generation.build import Recipe, digest, generate, summarise, with_noise, write_dataset
from bench.generation.gates import check_dataset
from bench.generation.histories import ordinal
from bench.generation.people import draw_person
from bench.generation.placing import Days, weekdays
from bench.generation.resolve import resolve
from bench.generation.spec import Conflict, EventSpec, PersonaSpec, StatePeriod, TaskSpec, Trait, day_at, size_of
from bench.generation.tasks import fill
from bench.models import Dataset, Event, EventLabel, Task
from bench.runs.world import PAGE


def test_the_same_seed_gives_the_same_sha256_and_another_seed_another(catalogue: Catalogue):
    first, again, other = (digest(generate(catalogue, Recipe("t", "tiny", seed=s))) for s in (3, 3, 4))
    assert first == again
    assert first != other


def test_people_cues_and_tasks_are_the_same_whatever_the_noise(catalogue: Catalogue):
    quiet, loud = (generate(catalogue, Recipe("t", "tiny", seed=3, noise=noise)) for noise in (0.0, 0.7))
    for plain, noisy in zip(quiet, loud, strict=True):
        assert list(map(partial(_with_texts, noisy), noisy.tasks)) == list(
            map(partial(_with_texts, plain), plain.tasks)
        )
        assert [event for event in noisy.events if event.role not in {"everyday", "distractor"}] == list(plain.events)
        assert len(plain.events) / len(noisy.events) == pytest.approx(0.3, abs=0.01)


def _with_texts(persona: PersonaSpec, task: TaskSpec) -> tuple[TaskSpec, list[list[str]]]:
    """The task without the places of its gold events, and their texts."""
    bare = replace(task, checkpoints=tuple(replace(checkpoint, evidence=()) for checkpoint in task.checkpoints))
    return bare, [[persona.events[n].text for n in checkpoint.evidence] for checkpoint in task.checkpoints]


def test_a_dataset_of_another_noise_has_the_same_tasks_and_a_name_of_its_own(tiny: Dataset):
    quiet = with_noise(tiny, 0.0, say=lambda text: None)
    assert (quiet.name, quiet.noise) == ("tiny-noise0", 0.0)
    assert not EventLabel.objects.filter(event__persona__dataset=quiet, role__in=["everyday", "distractor"]).exists()
    requests = [list(Task.objects.of_dataset(d.pk).order_by("slug").values_list("request")) for d in (tiny, quiet)]
    assert requests[0] == requests[1]


def test_the_starter_dataset_is_as_large_as_promised(starter: list[PersonaSpec]):
    assert len(starter) == 27
    assert min(len(persona.events) for persona in starter) >= 80
    assert sum(len(persona.events) for persona in starter) / 27 >= 130
    tasks = [task for persona in starter for task in persona.tasks]
    assert len(tasks) >= 200
    assert 0.3 <= sum(bool(task.tools) for task in tasks) / len(tasks) <= 0.8


def test_no_slot_of_a_text_stays_open(starter: list[PersonaSpec]):
    texts = [event.text for persona in starter for event in persona.events]
    assert not [text for text in texts if TEXT_SLOT.search(text)]


def test_no_text_of_a_dev_history_stands_in_a_test_history(starter: list[PersonaSpec]):
    dev, test = (
        {event.text for persona in starter if persona.split == split for event in persona.events}
        for split in ("dev", "test")
    )
    assert min(len(dev), len(test)) > 500
    assert not dev & test


def test_who_learned_the_texts_of_dev_by_heart_settles_nothing_of_test(starter: list[PersonaSpec]):
    by_heart = {
        event.text: event.value
        for persona in starter
        if persona.split == "dev"
        for event in persona.events
        if event.role in {"cue", "condition", "drift"}
    }
    known = [
        persona.events[position].text in by_heart
        for persona in starter
        if persona.split == "test"
        for task in persona.tasks
        for checkpoint in task.checkpoints
        for position in checkpoint.evidence
    ]
    assert len(known) > 1000
    assert not any(known)


def test_no_value_is_right_for_more_than_45_percent_of_its_checkpoints(starter: list[PersonaSpec]):
    """From five checkpoints of a dimension on: of four, two are 50%."""
    for split in ("dev", "test"):
        asked: dict[str, Counter[str]] = defaultdict(Counter)
        for task in (task for persona in starter if persona.split == split for task in persona.tasks):
            for checkpoint in task.checkpoints:
                if checkpoint.kind == "preference":
                    asked[checkpoint.dimension][checkpoint.value] += 1
        shares = {d: max(c.values()) / c.total() for d, c in asked.items() if c.total() >= 5}
        assert shares
        assert [(d, share) for d, share in shares.items() if share > 0.45] == []


def test_every_option_of_a_decided_field_is_as_frequent_as_every_other(starter: list[PersonaSpec]):
    for task in (task for persona in starter for task in persona.tasks if task.world):
        rows = task.world["items"]
        preferred = {
            c.rule["item_field"] for c in task.checkpoints if c.kind == "preference" and "item_field" in (c.rule or {})
        }
        here = {
            c.rule["item_field"]: c.rule["equals"]
            for c in task.checkpoints
            if c.kind == "task" and "item_field" in (c.rule or {})
        }
        rows = [row for row in rows if all(str(row[f]) == str(v) for f, v in here.items())]
        if len(preferred) > 1:
            for name in preferred:
                assert len(set(Counter(row[name] for row in rows).values())) == 1
            combined = Counter(tuple(row[name] for name in sorted(preferred)) for row in rows)
            assert len(set(combined.values())) == 1


def test_every_domain_has_tasks_of_nine_personas(starter: list[PersonaSpec]):
    personas = Counter(domain for persona in starter for domain in persona.domains)
    assert set(personas.values()) == {9}


def test_no_two_personas_of_a_starter_have_all_their_domains_in_common(starter: list[PersonaSpec]):
    assert len({frozenset(persona.domains) for persona in starter}) == len(starter)


def test_all_five_kinds_of_conflict_occur(starter: list[PersonaSpec]):
    assert set(summarise(starter)["conflicts"]) == {kind.value for kind in Conflict} - {""}


def test_histories_span_a_year_in_order_and_repeat_no_text(starter: list[PersonaSpec]):
    for persona in starter:
        times = [event.occurred_at for event in persona.events]
        assert times == sorted(times)
        assert times[-1] - times[0] > timedelta(days=350)
        assert len({event.text for event in persona.events}) == len(persona.events)


def test_texts_have_single_spaces_as_prompts_show_them(starter: list[PersonaSpec]):
    assert [
        event.text for persona in starter for event in persona.events if event.text != " ".join(event.text.split())
    ] == []


def test_gold_evidence_lies_before_the_task_and_shows_the_value(starter: list[PersonaSpec]):
    for persona in starter:
        for task in persona.tasks:
            for checkpoint in (c for c in task.checkpoints if c.kind == "preference"):
                events = [persona.events[position] for position in checkpoint.evidence]
                assert events
                assert all(event.occurred_at < task.as_of for event in events)
                assert all(event.role not in {"distractor", "everyday"} for event in events)
                assert checkpoint.value not in checkpoint.losing_values


def test_an_api_task_can_be_solved_with_an_item_among_those_an_agent_is_shown(
    starter: list[PersonaSpec],
):
    for task in (task for persona in starter for task in persona.tasks if task.tools):
        wanted = {c.rule["item_field"]: c.rule["equals"] for c in task.checkpoints if c.rule and "item_field" in c.rule}
        missed = [frozenset(f for f, v in wanted.items() if str(item[f]) != str(v)) for item in task.world["items"]]
        assert frozenset() in missed
        assert len(missed) <= PAGE


def test_public_tool_specifications_do_not_name_dimensions(starter: list[PersonaSpec], catalogue: Catalogue):
    references = [f"{domain}.{slug}" for domain, data in catalogue.domains.items() for slug in data.dimensions]
    for task in (task for persona in starter for task in persona.tasks):
        assert not [reference for reference in references if reference in str(task.tools)]


def test_noise_is_the_share_of_events_that_show_nothing(catalogue: Catalogue):
    for noise in (0.0, 0.3, 0.5):
        events = [e for p in generate(catalogue, Recipe("t", "tiny", noise=noise)) for e in p.events]
        silent = sum(event.role in {"distractor", "everyday"} for event in events)
        assert silent / len(events) == pytest.approx(noise, abs=0.03)


def test_a_size_or_noise_that_does_not_exist_is_refused_by_name():
    with pytest.raises(ValueError, match="size 'huge' is not known; use tiny, starter, full"):
        size_of("huge")
    with pytest.raises(ValueError, match=r"noise 1\.2 is outside"):
        Recipe("t", noise=1.2)


@pytest.mark.parametrize(
    ("day", "words"), [(1, "1st"), (2, "2nd"), (3, "3rd"), (11, "11th"), (22, "22nd"), (30, "30th")]
)
def test_ordinals_read_as_people_write_them(day: int, words: str):
    assert ordinal(day) == words


@given(st.integers(0, 350), st.sampled_from(["", "at_weekend", "not at_weekend"]))
def test_an_event_settles_within_a_week_on_a_day_that_fits(day: int, group: str):
    settled = Days().place(day, Text(channel=Channel.NOTE, text="nothing named here"), group)
    assert settled is not None
    assert day <= settled < day + 7
    weekend = day_at(settled).weekday() >= 5
    assert weekend if group == "at_weekend" else (not weekend or group == "")


def test_an_event_that_names_a_weekday_falls_on_it():
    assert weekdays(Text(channel=Channel.NOTE, text="Thu 9-12 Danuta. Cash in the envelope")) == {3}


def test_an_episode_is_told_whole_and_in_order_to_people_of_its_split_whom_it_can_happen_to(catalogue: Catalogue):
    told = [{"after": n * 2, "channel": "note", "text": f"boiler, part {n}"} for n in range(3)]
    mine = Episode.model_validate({"slug": "mine", "name": "Mine", "split": "test", "events": told})
    others = [{**event, "text": f"{event['text']} of others"} for event in told]
    barred = Episode.model_validate({"slug": "no", "name": "No", "split": "dev", "needs": ["baby"], "events": others})
    domains = {slug: replace(data, episodes={}) for slug, data in catalogue.domains.items()}
    domains["home"] = replace(domains["home"], episodes={"mine": mine, "no": barred})
    everything = replace(catalogue, domains=domains)
    stories = [
        (persona.split, [event.text for event in persona.events if event.text.startswith("boiler, part")])
        for persona in generate(everything, Recipe("t", "tiny", seed=3, noise=0.7))
    ]
    whole = [f"boiler, part {n}" for n in range(3)]
    assert any(texts == whole for split, texts in stories if split == "test")
    assert all(texts in ([], whole) for split, texts in stories if split == "test")
    assert all(not set(texts) & set(whole) for split, texts in stories if split == "dev")


def test_fill_replaces_known_slots_only():
    assert fill("To {city}, {unknown}", {"city": "Ghent"}) == "To Ghent, {unknown}"


NOON = datetime(2025, 10, 10, 12, tzinfo=UTC)


def cast(
    catalogue: Catalogue, trait: Trait, events: list[EventSpec], states: tuple[StatePeriod, ...] = ()
) -> PersonaSpec:
    return PersonaSpec(
        "p", "P", draw_person(catalogue, 0, set(), Random(1)), "test", ("dining",), (trait,), states, tuple(events)
    )


def cue(days_before: int, value: str, group: str = "", role: str = "cue") -> EventSpec:
    return EventSpec(
        NOON - timedelta(days=days_before), "note", f"{value} {days_before}", role, "dining.spice", value, group
    )


def test_a_change_makes_the_newer_value_hold_and_the_older_lose(catalogue: Catalogue):
    trait = Trait("dining.spice", "mild", was="fiery", changed_on=(NOON - timedelta(days=50)).date())
    persona = cast(catalogue, trait, [cue(90, "fiery"), cue(50, "mild", role="drift"), cue(20, "mild")])
    found = resolve(persona, "dining.spice", as_of=NOON, day=NOON.date(), context="")
    assert found is not None
    assert (found.value, found.evidence, found.losing, found.conflict) == ("mild", (1, 2), ("fiery",), Conflict.DRIFT)


def test_a_condition_decides_by_the_context_of_the_request(catalogue: Catalogue):
    trait = Trait("dining.spice", "fiery", when="with_children", value_when="mild")
    events = [cue(40, "mild", "with_children", "condition"), cue(30, "fiery", "not with_children", "condition")]
    persona = cast(catalogue, trait, events)
    alone = resolve(persona, "dining.spice", as_of=NOON, day=NOON.date(), context="")
    together = resolve(persona, "dining.spice", as_of=NOON, day=NOON.date(), context="with_children")
    assert alone is not None
    assert together is not None
    assert (alone.value, together.value) == ("fiery", "mild")


@pytest.mark.parametrize("offset", [-30, -6, -5, -4, 0, 4, 5, 6, 30])
def test_a_state_wins_only_while_it_lasts(catalogue: Catalogue, offset: int):
    state = next(
        s for s in catalogue.domains["healthcare"].states.values() if s.effects[0].dimension.startswith("dining")
    )
    effect = state.effects[0]
    other = next(v.slug for v in catalogue.dimension(effect.dimension).values if v.slug != effect.value)
    period = StatePeriod("healthcare", state, date(2025, 10, 5), date(2025, 10, 15))
    events = [
        EventSpec(NOON - timedelta(days=60), "note", "a", "cue", effect.dimension, other),
        EventSpec(datetime(2025, 10, 5, 8, tzinfo=UTC), "note", "b", "state_start", group=period.key),
    ]
    persona = replace(cast(catalogue, Trait(effect.dimension, other), events), states=(period,))
    as_of = NOON + timedelta(days=offset)
    found = resolve(persona, effect.dimension, as_of=as_of, day=as_of.date(), context="")
    assert found is not None
    holds = period.start < as_of.date() <= period.end
    assert found.value == (effect.value if holds else other)
    assert all(persona.events[position].occurred_at < as_of for position in found.evidence)


def test_what_a_state_asks_for_that_held_anyway_holds_and_has_no_gold_events(catalogue: Catalogue):
    """It shapes the items like any preference, else a reader of the state's events wants what nothing on offer has."""
    state = next(
        s for s in catalogue.domains["healthcare"].states.values() if s.effects[0].dimension.startswith("dining")
    )
    effect = state.effects[0]
    period = StatePeriod("healthcare", state, date(2025, 10, 5), date(2025, 10, 15))
    events = [
        EventSpec(NOON - timedelta(days=60), "note", "a", "cue", effect.dimension, effect.value),
        EventSpec(datetime(2025, 10, 5, 8, tzinfo=UTC), "note", "b", "state_start", group=period.key),
    ]
    persona = replace(cast(catalogue, Trait(effect.dimension, effect.value), events), states=(period,))
    found = resolve(persona, effect.dimension, as_of=NOON, day=NOON.date(), context="")
    assert found is not None
    assert (found.value, found.evidence) == (effect.value, ())


@pytest.mark.django_db
def test_the_same_content_is_written_once_and_other_content_makes_a_new_version(tiny: Dataset, catalogue: Catalogue):
    recipe = Recipe("tiny", "tiny", seed=7)
    assert write_dataset(recipe, catalogue, generate(catalogue, recipe)).pk == tiny.pk
    other = replace(recipe, seed=8)
    assert write_dataset(other, catalogue, generate(catalogue, other)).version == tiny.version + 1


@pytest.mark.django_db
def test_the_gates_hold_for_a_generated_dataset_and_one_breaks_when_evidence_moves(tiny: Dataset):
    assert [(gate.name, gate.offenders) for gate in check_dataset(tiny) if not gate.passed] == []
    Event.objects.filter(persona__dataset=tiny).update(occurred_at=datetime(2030, 1, 1, tzinfo=UTC))
    assert "gold evidence after the as-of time" in [gate.name for gate in check_dataset(tiny) if not gate.passed]


def test_nobody_holds_a_value_that_their_facts_forbid_on_either_side_of_a_condition(
    catalogue: Catalogue, starter: list[PersonaSpec]
):
    for persona in starter:
        facts = frozenset(fact.value for fact in persona.person.tags)
        for trait in persona.traits:
            values = {trait.value, trait.value_when, trait.was} - {""}
            assert all(catalogue.dimension(trait.dimension).value(value).open_to(facts) for value in values), trait
            if trait.when == "with_colleagues":
                assert "colleagues" in facts
