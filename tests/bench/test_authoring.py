"""Histories that a model writes in several roles: what is taken, what is turned down, and what it costs."""

from __future__ import annotations

from dataclasses import replace

import pytest
from django.utils.html import escape

from agents.contract import BudgetExceeded
from bench.catalogue.store import store_catalogue
from bench.generation.authoring import checks, roles, writing
from bench.generation.build import Recipe, build_dataset, generate
from bench.generation.validity.marking import check_once
from bench.generation.validity.recognise import recogniser
from bench.models import EventLabel, ModelCall, RejectedText
from bench.runs.endpoints import resolve_endpoint
from tests.bench.conftest import silent

CARELESS = "offline+errs=0.3"  # three texts in ten are something else at first


@pytest.fixture(scope="module")
def lives(catalogue):
    return generate(catalogue, Recipe("written", "tiny", seed=7))


def cue_of(lives):
    return next((p, e) for p in lives for e in p.events if e.role == "cue" and e.channel == "message")


@pytest.mark.django_db(transaction=True)
def test_a_model_writes_every_history_and_what_the_critic_turns_down_is_kept_with_the_reason(
    catalogue, lives, offline, embeddings, admin_client
):
    recipe = Recipe("written", "tiny", seed=7, author="llm", model=CARELESS)
    store_catalogue(catalogue)
    dataset = build_dataset(catalogue, recipe, say=silent)
    report = dataset.summary["authoring"]
    labels = list(
        EventLabel.objects.filter(event__persona__dataset=dataset).order_by("event__persona_id", "event__position")
    )
    events = [event for life in lives for event in life.events]
    assert [(one.role, one.dimension, one.value) for one in labels] == [(e.role, e.dimension, e.value) for e in events]
    rejected = list(RejectedText.objects.filter(dataset=dataset))
    assert rejected
    assert {one.reason for one in rejected if "blind" in one.reason}
    assert sum(report["rejected"].values()) == len(rejected)
    assert report["written"] + report["kept"] == len(events)
    assert (report["model"], report["simulated"]) == (CARELESS, True)
    messages = [one.event for one in labels if one.event.channel == "message"]
    assert all("[Assistant: Noted.]" in event.text for event in messages)
    page = admin_client.get(f"/datasets/{dataset.name}/").content.decode()
    assert "simulated</span>" in page
    assert escape(rejected[0].text) in page
    bought = ModelCall.objects.count()
    assert bought == report["calls"]
    # The same recipe again makes nothing; where the dataset is gone, it is written anew and nothing is bought.
    assert build_dataset(catalogue, recipe, say=silent) == dataset
    sha = dataset.sha256
    dataset.delete()
    assert build_dataset(catalogue, recipe, say=silent).sha256 == sha
    assert ModelCall.objects.count() == bought


def test_records_of_services_stay_as_they_are_whether_they_show_something_or_not(catalogue, lives):
    known = recogniser(catalogue)
    of_services = [e for life in lives for e in life.events if writing.is_of_a_service(known, e)]
    assert {"record"} < {e.role for e in of_services}
    assert "everyday" in {e.role for e in of_services}


def test_a_text_that_names_its_value_is_turned_down_by_code(catalogue, lives):
    _, cue = cue_of(lives)
    dimension = catalogue.dimension(cue.dimension)
    label = dimension.value(cue.value).label
    assert "name the value" in checks.telling(cue, f"{cue.text} {label}", dimension)
    assert checks.telling(cue, cue.text, dimension) == ""


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("", "it is empty"),
        ("x" * 11, "it has 11 characters; 12 to 160 are taken"),  # 0.3 * 40 and 2.5 * 40 + 60
        ("x" * 12, ""),
        ("x" * 160, ""),
        ("x" * 161, "it has 161 characters; 12 to 160 are taken"),
    ],
)
def test_a_text_is_about_as_long_as_the_authored_one(lives, text, reason):
    assert checks.length(replace(lives[0].events[0], text="y" * 40), text) == reason


def test_figures_and_days_of_a_state_must_stay(lives):
    event = replace(lives[0].events[0], text="Plaster until Friday the 14th of March, 9:40")
    assert checks.figures(event, "In plaster till Friday, 14 March, see him 9:40") == ""
    assert checks.figures(event, "In plaster for two weeks") == "it leaves out 14, 9:40, Friday, March"


def test_the_order_of_statements_says_nothing_and_is_the_same_each_time(catalogue, lives):
    _, cue = cue_of(lives)
    dimension = catalogue.dimension(cue.dimension)
    assert roles.statements_of(dimension, "one text") == roles.statements_of(dimension, "one text")
    orders = {tuple(roles.statements_of(dimension, f"text {n}").values()) for n in range(40)}
    assert len(orders) > 2


def test_an_estimate_counts_every_call_of_a_first_draft(catalogue, lives):
    endpoint = replace(resolve_endpoint("offline"), price_in_per_mtok_usd=1.0, price_out_per_mtok_usd=2.0)
    known = recogniser(catalogue)
    own = [e for life in lives for e in life.events if not writing.is_of_a_service(known, e)]
    found = writing.estimate(lives, catalogue, endpoint)
    assert found.calls == len(lives) + 2 * len(own) + sum(e.channel == "message" for e in own)
    assert found.cost_usd == pytest.approx((found.tokens_in + 2 * found.tokens_out) / 1_000_000)


@pytest.mark.django_db(transaction=True)
def test_a_budget_ends_the_writing_and_the_next_one_goes_on(catalogue, lives, offline):
    endpoint = replace(resolve_endpoint("offline"), price_in_per_mtok_usd=1000.0)
    with pytest.raises(BudgetExceeded, match="the same command with a larger --budget-usd goes on"):
        writing.write(lives[:1], catalogue, endpoint, budget_usd=0.5, say=silent)
    bought = ModelCall.objects.count()
    assert bought
    done = writing.write(lives[:1], catalogue, endpoint, budget_usd=None, say=silent)
    assert ModelCall.objects.count() == done.report["calls"] > bought


@pytest.mark.django_db(transaction=True)
def test_a_dataset_that_an_ideal_model_wrote_passes_the_gates(catalogue, offline, embeddings):
    store_catalogue(catalogue)
    recipe = Recipe("ideal", "tiny", seed=7, author="llm", model="offline")
    dataset = build_dataset(catalogue, recipe, say=silent)
    check_once(dataset)
    assert dataset.failed_gates == []
    assert dataset.summary["authoring"]["rejected"] == {}
