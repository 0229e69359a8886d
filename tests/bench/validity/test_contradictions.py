"""A life that contradicts itself is found in what is stored of it."""

from __future__ import annotations

from datetime import UTC, date, datetime
from random import Random

import pytest

from bench.catalogue import Catalogue, Text
from bench.catalogue.facts import Activity
from bench.catalogue.texts import TEXT_SLOT, Channel
from bench.generation.filling import cast_of, filled
from bench.generation.people import draw_person
from bench.generation.validity.contradictions import NAME, Written, contradictions, facts_of, faults, recognised
from bench.generation.validity.recognise import Source, recogniser
from bench.models import Dataset, Event, Persona

MONDAY = datetime(2025, 3, 10, 9, tzinfo=UTC)
MOVED = {"slug": "moved", "on": "2025-06-01", "what": "Moved", "before": ["flat"], "after": ["garden"]}


def written(words: str, at: datetime = MONDAY, role: str = "everyday", story: str = "", bars=(), **keys) -> Written:
    text = Text(channel=Channel.NOTE, text=words, **keys)
    excludes = frozenset(fact.value for fact in text.excludes)
    return Written(at, role, words, Source(text, text.presumes, excludes, story, tuple(bars)))


def found(catalogue: Catalogue, *events: Written, tags=(), changes=(), states=()) -> list[str]:
    life = facts_of({"country": "germany", "tags": list(tags), "changes": list(changes)})
    return [fault.rsplit("(", 1)[1][:-1] for fault in faults(catalogue, life, states, events)]


def test_what_a_text_needs_or_excludes_is_held_against_the_facts_of_its_day(catalogue: Catalogue):
    beans, lift = written("beans", needs=["garden"]), written("lift is out", excludes=["garden"])
    assert found(catalogue, beans) == ["needs garden"]
    assert found(catalogue, beans, lift, tags=["garden"]) == ["excludes garden"]
    july = written("beans", datetime(2025, 7, 1, tzinfo=UTC), needs=["garden"], excludes=["flat"])
    assert found(catalogue, july, changes=[MOVED]) == []
    assert found(catalogue, beans, changes=[MOVED]) == ["needs garden"]


def test_a_fact_that_a_text_ended_carries_no_later_text(catalogue: Catalogue):
    sold = written("sold it", needs=["car"], sets={"car": False})
    boot = written("boot full of leaves", datetime(2025, 3, 11, tzinfo=UTC), needs=["car"])
    assert found(catalogue, boot, sold, tags=["car"]) == []
    assert found(catalogue, sold, boot, tags=["car"]) == ["needs car"]


def test_two_places_on_one_day_and_work_on_a_holiday_are_found(catalogue: Catalogue):
    landed, watered = written("landed", does=["flies"]), written("watered the plants", does=["at_home"])
    assert found(catalogue, landed, watered) == ["at_home and away on one day, with: landed"]
    labour_day = datetime(2025, 5, 1, 9, tzinfo=UTC)
    assert found(catalogue, written("late shift", labour_day, does=["works"])) == ["works on a holiday"]
    assert found(catalogue, written("late shift", does=["works"])) == []


def test_what_a_state_or_a_story_bars_is_found_while_it_lasts(catalogue: Catalogue):
    domain, state = next(
        (d, s) for d, data in catalogue.domains.items() for s in data.states.values() if "sport" in s.bars
    )
    laps = written("five laps", does=["sport"])
    period = (f"{domain}.{state.slug}", date(2025, 3, 9), date(2025, 3, 12))
    assert found(catalogue, laps, states=[period]) == [f"{period[0]} bars sport"]
    assert found(catalogue, laps, states=[(period[0], date(2025, 3, 11), date(2025, 3, 12))]) == []
    ill = [written(f"ill {n}", datetime(2025, 3, n, tzinfo=UTC), story="x.flu", bars=[Activity.SPORT]) for n in (9, 12)]
    assert found(catalogue, ill[0], laps, ill[1]) == ["x.flu bars sport"]


def test_a_text_on_another_kind_of_day_or_out_of_season_is_found(catalogue: Catalogue):
    assert found(catalogue, written("market", day="sat")) == ["stands on sat"]
    assert found(catalogue, written("first snow", months=[12, 1])) == ["stands in months 12, 1"]
    assert found(catalogue, written("market", day="weekday", months=[3])) == []


def test_every_authored_text_is_known_again_by_its_letters_whatever_its_slots_hold(catalogue: Catalogue):
    person = draw_person(catalogue, 0, set(), Random(1))
    cast = cast_of(person, next(c for c in catalogue.countries if c.slug == person.country), Random(1))
    known = recogniser(catalogue)
    open_ = [text for data in catalogue.domains.values() for text in data.everyday if TEXT_SLOT.search(text.text)]
    open_ += [text for routine in catalogue.routines.values() for text in routine.texts]
    for text in open_:
        words = " ".join(filled(text.text, cast, MONDAY, Random(2)).split())
        source = known.source(text.channel.value, words)
        assert source is not None
        assert source.text == text
    assert known.source("note", "nobody wrote this") is None


@pytest.mark.django_db
def test_the_gate_holds_for_a_generated_dataset_and_breaks_when_a_fact_is_taken_away(tiny: Dataset):
    gate = contradictions(tiny)
    assert (gate.name, gate.offenders, gate.passed) == (NAME, (), True)
    assert gate.n == Event.objects.filter(persona__dataset=tiny).count()
    persona = Persona.objects.filter(dataset=tiny).first()
    persona.background["tags"] = []
    persona.background["changes"] = []
    persona.save()
    broken = contradictions(tiny)
    assert not broken.passed
    assert all(offender.startswith(persona.slug) and "(needs " in offender for offender in broken.offenders)


def test_a_record_that_reads_like_one_of_the_weekend_is_known_by_what_it_shows(catalogue: Catalogue):
    """Records that do not belong have the same letters on other days; each is held to its own day."""
    known, at = recogniser(catalogue), datetime(2025, 3, 10, 8, 39, tzinfo=UTC)  # a Monday
    words = "Water meter: first draw 08:39, 19 litres. Reading 99-1582"
    life = facts_of({})
    for role, offenders in (("regular", 0), ("everyday", 1)):
        written = list(recognised(known, [(at, "device_log", words, role)]))
        assert len(list(faults(catalogue, life, [], written))) == offenders
