from __future__ import annotations

from datetime import UTC, datetime, timedelta
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from agents.contract import Engine, SearchUnavailable
from bench.importers.histories import ImportedEvent, write_histories
from bench.models import Event, EventLabel, EventVector, Persona
from bench.search import HistorySearch
from bench.search.deep import look_closer
from bench.search.history import History, forget, load_history
from bench.search.looks import from_0_to_1
from bench.search.pieces import pieces_of
from bench.search.sessions import standardised
from bench.search.vectors import index_events

DAY = datetime(2026, 3, 1, 9, tzinfo=UTC)
TEXTS = (
    "Booked the dentist for the crown, left side",
    "The neighbour's cat is on our roof again",
    "Two tickets for the late film at the Rialto",
    "Left side hurts when I chew nuts",
    "Parking fine paid, 35 euros",
    "The dentist says no nuts until the crown sits",
)


@pytest.fixture
def persona(db: None, embeddings: None) -> Persona:
    forget()
    events = [ImportedEvent(DAY + timedelta(days=n), "note", text) for n, text in enumerate(TEXTS)]
    dataset = write_histories("six", "jsonl", {"ana": events})
    found = dataset.personas.get()
    index_events([found.pk])
    return found


def texts(found) -> list[str]:
    return [evidence.text for evidence in found]


@pytest.mark.parametrize("engine", list(Engine))
def test_every_engine_finds_the_dentist_and_keeps_to_the_budget(persona: Persona, engine: Engine):
    found = HistorySearch(persona.pk, None)("dentist crown", k=2, engine=engine)
    assert len(found) == 2
    assert "dentist" in found[0].text


@pytest.mark.parametrize("engine", list(Engine))
def test_events_at_or_after_the_as_of_time_are_never_returned(persona: Persona, engine: Engine):
    as_of = DAY + timedelta(days=5)
    found = HistorySearch(persona.pk, as_of)("dentist says no nuts until the crown sits", k=6, engine=engine)
    assert len(found) <= 5
    assert all(evidence.occurred_at < as_of for evidence in found)


def test_no_query_returns_the_newest_first(persona: Persona):
    assert texts(HistorySearch(persona.pk, None)("", k=2)) == [TEXTS[5], TEXTS[4]]


def test_a_window_bounds_the_result(persona: Persona):
    within = {"since": DAY + timedelta(days=1), "until": DAY + timedelta(days=3)}
    found = HistorySearch(persona.pk, None)("dentist", k=6, **within)
    assert set(texts(found)) == {TEXTS[1], TEXTS[2], TEXTS[3]}


def test_a_persona_never_sees_the_events_of_another(persona: Persona):
    other = write_histories(
        "other", "jsonl", {"ben": [ImportedEvent(DAY, "note", "dentist crown nuts")]}
    ).personas.get()
    index_events([other.pk])
    assert "dentist crown nuts" not in texts(HistorySearch(persona.pk, None)("dentist crown nuts", k=6))


def test_the_vector_part_is_an_exact_scan(persona: Persona):
    found = HistorySearch(persona.pk, None)("toothache", k=6, engine=Engine.DENSE)
    from bench.search.vectors import query_vector

    vectors = dict(EventVector.objects.filter(persona=persona).values_list("event_id", "vector"))
    query = query_vector("toothache")
    exact = {str(pk): float(np.dot(np.asarray(v), query)) for pk, v in vectors.items()}
    assert [e.event_id for e in found] == sorted(exact, key=lambda key: -exact[key])
    assert found[0].score == pytest.approx(max(exact.values()), abs=1e-5)


def test_missing_vectors_are_our_fault_and_say_what_to_do(persona: Persona):
    EventVector.objects.filter(event=Event.objects.filter(persona=persona).first()).delete()
    with pytest.raises(SearchUnavailable, match=r"5 of 6 events .* run `manage.py embed_events`"):
        HistorySearch(persona.pk, None)("dentist", k=2)


def test_indexing_again_changes_nothing(persona: Persona):
    assert index_events([persona.pk]) == 0


def test_asking_for_no_event_is_refused(persona: Persona):
    with pytest.raises(ValueError, match="k is 0"):
        HistorySearch(persona.pk, None)("x", k=0)


def test_standardised_scores_have_mean_0_and_deviation_1():
    # 1, 2, 3: mean 2, deviation sqrt(2/3) = 0.8165; (1 - 2) / 0.8165 = -1.2247
    assert standardised(np.array([1.0, 2.0, 3.0])) == pytest.approx([-1.2247, 0, 1.2247], abs=1e-4)
    assert standardised(np.array([5.0, 5.0])).tolist() == [0, 0]


def test_nearness_runs_from_the_farthest_event_to_the_nearest():
    # 0.8, 0.9, 0.85: span 0.1; (0.85 - 0.8) / 0.1 = 0.5
    assert from_0_to_1(np.array([0.8, 0.9, 0.85])) == pytest.approx([0, 1, 0.5])
    assert from_0_to_1(np.array([0.8, 0.8])).tolist() == [0, 0]


@given(st.lists(st.floats(-1, 1), max_size=30))
def test_nearness_keeps_the_order_and_the_ties_of_the_cosines(cosines: list[float]):
    near = from_0_to_1(np.array(cosines))
    assert len(near) == len(cosines)
    assert ((near >= 0) & (near <= 1)).all()
    for one, other in pairwise(np.argsort(cosines)):
        assert near[one] <= near[other]
        assert cosines[one] != cosines[other] or near[one] == near[other]


def test_hybrid_finds_the_only_event_of_a_history_and_nothing_in_an_empty_one(db: None, embeddings: None):
    forget()
    alone = {"ana": [ImportedEvent(DAY, "note", "red kite")]}
    pk = write_histories("alone", "jsonl", alone).personas.get().pk
    index_events([pk])
    assert texts(HistorySearch(pk, None)("zebra", k=3)) == ["red kite"]
    assert HistorySearch(pk, DAY - timedelta(days=1))("zebra", k=3) == ()


def test_the_lexical_share_is_one_for_an_average_text_with_each_word_of_the_query_once(db: None):
    forget()
    # Three texts of two stems each, so each is of average length: a word once weighs idf / (1 + 1.2).
    events = [ImportedEvent(DAY + timedelta(days=n), "note", t) for n, t in enumerate(("red kite", "red fox", "oak"))]
    events[2] = ImportedEvent(DAY + timedelta(days=2), "note", "oak elm")
    pk = write_histories("share", "jsonl", {"ana": events}).personas.get().pk
    history = load_history(pk, None)
    assert history.lexical_share("red kite") == pytest.approx([1, 0.4700 / 1.4508, 0], abs=1e-3)
    # idf of "red" in 2 of 3: ln(1 + 1.5 / 2.5) = 0.4700; of "kite" in 1 of 3: ln(1 + 2.5 / 1.5) = 0.9808
    assert history.lexical_share("red zebra")[0] == pytest.approx(0.4700 / (0.4700 + np.log(8)), abs=1e-3)
    # "zebra" is in none: ln(1 + 3.5 / 0.5) = ln 8; it is asked for and not said
    assert history.lexical_share("of the").tolist() == [0, 0, 0]


def test_the_best_piece_of_a_long_text_speaks_for_it(db: None, embeddings: None):
    forget()
    filler = "The bins were late again and nobody on the street knew why. " * 40
    long = filler + "My knee swells whenever I run on asphalt."
    events = [ImportedEvent(DAY, "chat", long), ImportedEvent(DAY + timedelta(days=1), "chat", filler)]
    persona = write_histories("long", "jsonl", {"ana": events}).personas.get()
    index_events([persona.pk])
    first = Event.objects.filter(persona=persona).earliest("position")
    assert EventVector.objects.filter(event=first).count() > 4
    found = HistorySearch(persona.pk, None)("knee hurts after running", k=2, engine=Engine.DENSE)
    assert found[0].event_id == str(first.pk)
    assert len(found) == 2


def test_long_texts_of_a_session_do_not_speak_for_one_another(db: None):
    forget()
    short = [ImportedEvent(DAY + timedelta(hours=n), "chat", f"turn {n}", session="a") for n in range(3)]
    long = [ImportedEvent(DAY + timedelta(days=1, hours=n), "chat", "word " * 200, session="b") for n in range(3)]
    pk = write_histories("both", "jsonl", {"ana": short + long}).personas.get().pk
    assert [rows.tolist() for rows in load_history(pk, None).session_members] == [[0, 1, 2]]


def told(*texts: str) -> History:
    """A history that no database holds: a note a day."""
    days = [DAY + timedelta(days=n) for n in range(len(texts))]
    return History(
        persona_id=0,
        ids=np.arange(len(texts)),
        times=np.array([day.timestamp() for day in days]),
        channels=("note",) * len(texts),
        sessions=("",) * len(texts),
        texts=texts,
        moments=tuple(days),
    )


def closer(history: History, query: str, scores: list[float], k: int) -> list[str]:
    now = history.moments[-1] + timedelta(days=1)
    rows, _ = look_closer(history, query, np.array(scores), k=k, allowed=history.between(None, None), now=now)
    return [history.texts[row] for row in rows]


def test_a_closer_look_gives_no_more_than_k_and_the_later_of_two_that_are_alike():
    history = told("a", "b", "c", "d")
    assert closer(history, "x", [1, 3, 3, 2], 3) == ["c", "b", "d"]


def test_a_closer_look_prefers_who_is_asked_about_and_who_does_not_ask():
    fair = [
        f"{name}: the fair was {word} this year" for name in ("Ana", "Ben") for word in ("big", "wet", "odd", "long")
    ]
    last = [f"{who} the fair was loud this year{mark}" for who, mark in (("Ana:", "."), ("Ben:", "."), ("Ana:", "?"))]
    order = closer(told(*fair, *last), "Was Ben at the loud fair?", [0] * 8 + [1] * 3, 11)
    assert order.index(last[1]) < order.index(last[0]) < order.index(last[2])


def test_a_closer_look_leaves_a_name_that_is_seldom_before_a_colon_as_it_is():
    history = told("Ben: loud", "Note: quiet", "calm")
    assert closer(history, "Was Ben loud?", [1, 2, 3], 3) == ["calm", "Note: quiet", "Ben: loud"]


def test_a_closer_look_looks_into_the_time_that_a_question_names():
    history = told(*(f"note {n}" for n in range(70)))  # from 1 March to 9 May
    scores = [0.0] * 70
    scores[20], scores[69] = 0.5, 0.55  # 21 March and 9 May, 0.6 deviations apart
    assert closer(history, "what came?", scores, 1) == ["note 69"]
    assert closer(history, "what came last March?", scores, 1) == ["note 20"]


def test_deep_search_finds_what_resembles_the_best_of_the_first_look(db: None, embeddings: None):
    forget()
    told = ("Booked the dentist for Monday", "The crown on my molar broke", "Rain again", "Bought two pears")
    events = [ImportedEvent(DAY + timedelta(days=n), "note", text) for n, text in enumerate(told)]
    pk = write_histories("teeth", "jsonl", {"ana": events}).personas.get().pk
    index_events([pk])
    search = HistorySearch(pk, None)
    assert texts(search("dentist", k=2, engine=Engine.DEEP)) == list(told[:2])


def test_deep_search_wants_the_words_and_the_meaning_of_a_long_text_in_one_piece(db: None, embeddings: None):
    forget()
    filler = "The bins were late again and nobody on the street knew why. " * 12
    together = filler + "The dentist said no nuts with the crown. " + filler
    apart = "We walked past a dentist. " + filler + "The king wore a crown. " + filler + "There were nuts on the cake."
    days = (DAY + timedelta(days=n) for n in range(3))
    events = [ImportedEvent(day, "chat", text) for day, text in zip(days, (apart, together, filler * 2), strict=True)]
    pk = write_histories("long", "jsonl", {"ana": events}).personas.get().pk
    index_events([pk])
    history = load_history(pk, None)
    assert history.is_long
    assert len(history.first_pieces) == 3
    assert history.of_pieces.texts[history.first_pieces[1]] == pieces_of(together)[0]
    assert HistorySearch(pk, None)("dentist crown nuts", k=1, engine=Engine.DEEP)[0].text == together


def test_a_time_that_a_question_names_widens_no_window(persona: Persona):
    until = DAY + timedelta(days=1)
    found = HistorySearch(persona.pk, DAY + timedelta(days=40))(
        "what did the dentist say last month?", k=6, engine=Engine.DEEP, until=until
    )
    assert found
    assert all(evidence.occurred_at <= until for evidence in found)


@pytest.mark.parametrize("engine", list(Engine))
def test_what_is_hidden_of_a_domain_is_found_by_no_engine(persona: Persona, engine: Engine):
    teeth = Event.objects.filter(persona=persona, text__icontains="dentist")
    EventLabel.objects.bulk_create(EventLabel(event=e, role="cue", dimension="healthcare.dentist") for e in teeth)
    rest = [text for text in TEXTS if "dentist" not in text]
    search = HistorySearch(persona.pk, DAY + timedelta(days=9), hidden="healthcare")
    assert sorted(texts(search("dentist crown", k=6, engine=engine))) == sorted(rest)
    assert texts(search("", k=6)) == rest[::-1]
    assert len(HistorySearch(persona.pk, DAY + timedelta(days=9), hidden="travel")("dentist", k=6)) == 6


def test_neighbours_and_sessions_speak_for_an_event(db: None, embeddings: None):
    forget()
    texts = ("Where did you buy the kayak?", "At the harbour, from Ned", "Rain again", "The bins are full")
    events = [
        ImportedEvent(DAY + timedelta(hours=n), "chat", text, session="a" if n < 2 else "b")
        for n, text in enumerate(texts)
    ]
    found = write_histories("kayak", "jsonl", {"ana": events}).personas.get()
    index_events([found.pk])
    order = [evidence.text for evidence in HistorySearch(found.pk, None)("kayak", k=4)]
    assert set(order[:2]) == set(texts[:2])
