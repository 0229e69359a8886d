from __future__ import annotations

import shutil
from pathlib import Path

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st
from pydantic import ValidationError

from bench.catalogue import Catalogue, CatalogueError, load_catalogue
from bench.catalogue.load import DATA, DOMAINS, all_texts
from bench.catalogue.store import store_catalogue
from bench.catalogue.texts import ChoiceRecord, of_split
from bench.catalogue.words import content_stems, holds_phrase, similarity
from bench.models import Dimension, Scenario

SEAT = "travel/dimensions/seat.yaml"
TRAVEL = ("travel",)  # the domain whose files the tests below change; reading the others shows nothing more


@pytest.fixture
def data(tmp_path: Path) -> Path:
    return Path(shutil.copytree(DATA, tmp_path / "data"))


def change(root: Path, relative: str, edit) -> None:
    path = root / relative
    content = yaml.safe_load(path.read_text())
    edit(content)
    path.write_text(yaml.safe_dump(content, allow_unicode=True))


def faults(root: Path, domains: tuple[str, ...] = TRAVEL) -> str:
    with pytest.raises(CatalogueError) as error:
        load_catalogue(root, domains)
    return str(error.value)


def test_the_catalogue_holds_nine_domains_with_enough_of_everything(catalogue: Catalogue):
    assert tuple(catalogue.domains) == DOMAINS
    for data in catalogue.domains.values():
        assert len(data.scenarios) >= 2
        assert len(data.dimensions) >= 8
    assert catalogue.counts()["api_scenarios"] >= 8


def test_every_value_has_five_cues_over_three_channels(catalogue: Catalogue):
    for data in catalogue.domains.values():
        for dimension in data.dimensions.values():
            assert len(dimension.values) >= 3
            for value in dimension.values:
                assert len(value.cues) >= 5
                assert len({cue.channel for cue in value.cues}) >= 3


def test_no_text_stands_twice(catalogue: Catalogue):
    texts = [text.text for _, text in all_texts(catalogue)]
    assert len(texts) == len(set(texts))


def test_what_describes_a_dimension_holds_no_cue(catalogue: Catalogue):
    dimensions = [dimension for data in catalogue.domains.values() for dimension in data.dimensions.values()]
    words = "\n".join(f"{d.question} {value.label} {value.description}" for d in dimensions for value in d.values)
    assert not [cue.text for _, cue in all_texts(catalogue) if cue.text in words]


def test_a_cue_that_names_its_value_is_refused(data: Path):
    def name_it(content):
        content["values"][0]["cues"][0]["text"] = f"Give me the {content['values'][0]['label']} every time"

    change(data, SEAT, name_it)
    message = faults(data)
    assert "travel/dimensions/seat.yaml" in message
    assert "gives" in message
    assert "away" in message


def test_a_near_copy_of_a_cue_is_refused(data: Path):
    def copy(content):
        cues = content["values"][0]["cues"]
        cues[1]["text"] = cues[0]["text"] + " ok"

    change(data, SEAT, copy)
    assert "near copies" in faults(data)


def test_too_few_cues_are_refused_with_file_and_number(data: Path):
    change(data, SEAT, lambda content: content["values"][1].update(cues=content["values"][1]["cues"][:4]))
    message = faults(data)
    assert "travel/dimensions/seat.yaml" in message
    assert "has 4 cues; at least 5" in message


AGAINST = [
    {"channel": "chat", "text": text}
    for text in ("climbed over two knees again", "asked him to get up", "held it for an hour", "no sleep", "rang twice")
]


def against(texts: list[dict[str, str]]):
    def add(content) -> None:
        content["values"][0]["against"] = texts

    return add


def test_texts_against_a_value_are_dealt_out_to_the_splits_like_cues(data: Path):
    change(data, SEAT, against(AGAINST))
    value = load_catalogue(data, TRAVEL).dimension("travel.seat").values[0]
    assert [text.text for text in of_split(value.against, "dev")] == [text["text"] for text in AGAINST[:2]]
    assert [text.text for text in of_split(value.against, "test")] == [text["text"] for text in AGAINST[2:]]


def test_texts_against_a_value_need_two_for_each_split(data: Path):
    change(data, SEAT, against(AGAINST[:3]))  # three: one for dev, two for test
    assert "fewer than 2 texts against it for dev" in faults(data)


def test_a_text_against_a_value_names_neither_it_nor_another(data: Path):
    own, other = (value["label"] for value in yaml.safe_load((data / SEAT).read_text())["values"][:2])
    change(data, SEAT, against([*AGAINST, {"channel": "note", "text": f"no {own} for me"}]))
    assert "away: 'no" in faults(data)
    change(data, SEAT, against([*AGAINST, {"channel": "note", "text": f"took the {other}, then."}]))
    assert "which stays open: 'took the" in faults(data)


def test_a_text_against_a_value_stands_nowhere_else(data: Path):
    cue = yaml.safe_load((data / SEAT).read_text())["values"][1]["cues"][0]["text"]
    change(data, SEAT, against([*AGAINST, {"channel": "note", "text": cue}]))
    assert "the same text stands in" in faults(data)


def test_an_unknown_channel_is_refused_and_the_allowed_ones_are_listed(data: Path):
    change(data, SEAT, lambda content: content["values"][0]["cues"][0].update(channel="telegram"))
    message = faults(data)
    assert "telegram" in message
    assert "calendar" in message


def test_an_unknown_key_is_refused(data: Path):
    change(data, SEAT, lambda content: content.update(colour="red"))
    assert "colour" in faults(data)


def test_a_state_on_a_dimension_that_does_not_exist_is_refused(data: Path):
    state = next((data / "travel/states").glob("*.yaml"))
    change(data, f"travel/states/{state.name}", lambda c: c["effects"][0].update(dimension="travel.wings"))
    assert "unknown dimension 'travel.wings'" in faults(data)


def test_a_scenario_with_an_option_for_no_value_is_refused(data: Path):
    def add(content):
        for parameter in content["tools"]["commit"]["parameters"].values():
            if parameter.get("dimension"):
                parameter["options"]["nowhere"] = "somewhere that is nowhere"
                return

    change(data, "travel/scenarios/book_journey.yaml", add)
    assert "has no value 'nowhere'" in faults(data)


@pytest.mark.parametrize(
    ("edit", "fault"),
    [
        (lambda then: then["for_departure"].update(agrees="wings"), "agrees with 'wings'; fields: city, departs"),
        (
            lambda then: then["for_departure"].pop("checkpoint"),
            "'for_departure' has equals or agrees but no checkpoint",
        ),
        (lambda then: then["for_departure"].pop("agrees"), "no parameter of 'order_cab' agrees with a field"),
        (
            lambda then: then.update(seat=then["cab_seats"]),
            "parameter 'seat' stands in 'book_journey' and in 'order_cab'",
        ),
        (lambda then: then["cab_seats"].update(item=True), "'order_cab' chooses an item; only 'book_journey' does"),
    ],
)
def test_a_second_committing_call_that_does_not_go_with_the_first_is_refused(data: Path, edit, fault: str):
    change(data, "travel/scenarios/book_journey.yaml", lambda c: edit(c["tools"]["then"]["parameters"]))
    assert fault in faults(data)


def test_a_request_that_drops_what_its_scenario_does_not_decide_is_refused(data: Path):
    change(data, "travel/scenarios/book_journey.yaml", lambda c: c["requests"][0].update(drops=["dining.spice"]))
    assert "a request drops 'dining.spice'; decided are travel." in faults(data)


@pytest.mark.parametrize(
    ("edit", "fault"),
    [
        (lambda why: why.pop("travel.luggage"), "why says nothing of 'travel.luggage'"),
        (lambda why: why.update({"travel.seat": "They sit."}), "why names 'travel.seat'; decided are "),
    ],
)
def test_why_names_the_dimensions_of_its_scenario_and_no_other(data: Path, edit, fault: str):
    change(data, "travel/scenarios/take_along.yaml", lambda content: edit(content["why"]))
    assert fault in faults(data)


def test_a_file_that_is_no_yaml_is_named_and_the_other_faults_are_still_found(data: Path):
    (data / SEAT).write_text("slug: [seat")
    (data / "people/habits.yaml").unlink()
    message = faults(data, DOMAINS)
    assert "seat.yaml: not readable as YAML" in message
    assert "people/habits.yaml: file is missing" in message


def test_a_changed_text_changes_the_data_version(data: Path, catalogue: Catalogue):
    change(data, "everyday.yaml", lambda content: content[0].update(text="The bin lid blew into next door's pond."))
    assert load_catalogue(data, TRAVEL).data_version != catalogue.data_version


@given(st.text(), st.text())
def test_similarity_is_symmetric_and_within_its_range(first: str, second: str):
    assert 0 <= similarity(first, second) <= 1
    assert similarity(first, second) == similarity(second, first)


def test_content_stems_see_through_endings_and_leave_small_words_out():
    assert content_stems("The earlier lights") & content_stems("early light") == content_stems("light")
    assert content_stems("of the and in") == frozenset()


@pytest.mark.django_db
def test_an_old_dataset_keeps_its_words_when_the_catalogue_changes(data: Path, catalogue: Catalogue):
    store_catalogue(catalogue)
    old = Scenario.objects.get(domain__slug="travel", slug="book_journey")
    change(data, "travel/scenarios/book_journey.yaml", lambda content: content.update(name="Take them there"))
    change(data, SEAT, lambda content: content.update(question="Which seat?"))
    changed = load_catalogue(data, TRAVEL)
    store_catalogue(changed)
    store_catalogue(changed)
    old.refresh_from_db()
    assert (old.name, old.data_version) == ("Book a journey", catalogue.data_version)
    seats = Dimension.objects.filter(domain__slug="travel", slug="seat")
    assert {seat.data_version: seat.question for seat in seats} == {
        catalogue.data_version: "Where on a train, plane or coach does this person want to sit?",
        changed.data_version: "Which seat?",
    }
    assert [seat.question for seat in seats & Dimension.objects.current()] == ["Which seat?"]


@pytest.mark.parametrize(
    ("request_text", "label", "tells"),
    [
        ("Book it the week before, please.", "Week before", True),
        ("Plan the week of Wednesday the 15th.", "Week before", False),
        ("Say when to call a doctor.", "Same doctor", False),
        ("Two aisle seats.", "Aisle", True),
        ("", "Aisle", False),
        ("Anything at all.", "", False),
    ],
)
def test_a_request_tells_a_value_only_by_its_whole_label(request_text, label, tells):
    assert holds_phrase(request_text, label) is tells


def test_a_record_of_a_choice_needs_what_makes_it_different_from_every_other():
    with pytest.raises(ValidationError, match=r"does not hold \{ref\}"):
        ChoiceRecord(channel="form", text="Two openings. Taken: {chosen}. Given back: {passed}.")
