"""What the readers get of a real dataset."""

from __future__ import annotations

import pytest

from bench.generation.validity.content import read_content
from bench.generation.validity.readers import read_shortcuts
from bench.models import Checkpoint, CheckpointKind, Event, Persona, Split

pytestmark = pytest.mark.django_db


def test_every_event_and_preference_is_read_in_five_queries(tiny, django_assert_num_queries):
    with django_assert_num_queries(5):
        content = read_content(tiny)
    preferences = Checkpoint.objects.filter(task__persona__dataset=tiny, kind=CheckpointKind.PREFERENCE)
    assert len(content.questions) == preferences.filter(answer="").count()
    assert len(content.typed) == preferences.exclude(answer="").count()
    assert len(content.records) == Event.objects.filter(persona__dataset=tiny).count()
    for question in content.questions:
        assert question.wanted in question.options
        assert 0 < question.chance <= 1 / 2
        assert bool(question.field) == bool(question.items)


def test_facts_name_the_person_by_nothing_but_what_holds_of_it(tiny):
    content = read_content(tiny)
    for persona in Persona.objects.filter(dataset=tiny):
        facts = next(q.facts for q in content.questions if q.persona == persona.slug)
        assert persona.background["town"] in facts
        assert persona.slug not in facts


def test_dev_histories_given_to_test_personas_are_found(tiny):
    def verdicts():
        return {s.name: s.verdict for s in read_shortcuts(tiny)}

    assert verdicts()["signal texts that stand in dev"] == "met"
    said = Event.objects.filter(persona__dataset=tiny, persona__split=Split.DEV, label__role="cue").first()
    told = Event.objects.filter(persona__dataset=tiny, persona__split=Split.TEST, label__role="cue").first()
    told.text = said.text
    told.save()
    assert verdicts()["signal texts that stand in dev"] == "not met"
