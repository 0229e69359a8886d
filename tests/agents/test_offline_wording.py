"""What the stand-in copies out of a request for a free-text argument."""

from __future__ import annotations

import json

import pytest

from agents.offline.filling import fill_object
from agents.offline.mind import answer
from agents.offline.pieces import pieces
from agents.offline.reading import read
from agents.offline.wording import clause, find
from tests.agents.agent_world import embed

TEXT = {"type": "string"}


def filled(request: str, properties: dict, required: tuple[str, ...] = ()) -> dict:
    prompt = read([{"role": "user", "content": f"## Request\n{request}\n\n## Now\n2026-03-09 09:00"}])
    return fill_object({"type": "object", "properties": properties, "required": list(required)}, prompt, embed)


@pytest.mark.parametrize(
    ("request_text", "value"),
    [
        ("Send the seeds on Friday, reference GH-2047, no signature.", "GH-2047"),
        ("Reference: allotment. Ten bags of compost please.", "allotment"),
        ('Ten bags of compost, and the reference is "plot nine, left".', "plot nine, left"),
        ("Put greenhouse as the reference and send ten bags.", "greenhouse"),
        ("Use “shed two” as the reference, ten bags.", "shed two"),
        ("Ten bags of compost. Print greenhouse on the label.", "greenhouse"),
        ("Ten bags of compost, with reference number 88213.", "88213"),
        ("Ten bags, my usual K7-ROW2 if they ask.", "K7-ROW2"),
    ],
)
def test_a_reference_is_found_however_it_is_put(request_text: str, value: str) -> None:
    assert find("reference", "Reference on the delivery note", request_text) == value


@pytest.mark.parametrize(
    ("request_text", "value"),
    [
        ("Table for two on Friday under the name Silva, please.", "Silva"),
        ("Can you set up a call with Dr. Amara Obi next week?", "Amara Obi"),
        ("Ana and I want the court on Saturday.", "Ana"),
        ("Get the court for Saturday, I am meeting Jo there. Ask for Pia Holm.", "Pia Holm"),
        ("My name is Ines. Two lanes for Monday.", "Ines"),
    ],
)
def test_a_person_is_a_name_and_nothing_beside_it(request_text: str, value: str) -> None:
    found = find("contact", "Person to ask for", request_text)
    assert found in {value, f"Dr. {value}"}


@pytest.mark.parametrize(
    ("request_text", "value"),
    [
        ("Find a dentist in Utrecht for Tuesday.", "Utrecht"),
        ("Porto, Friday, three of us. A flat, please.", "Porto"),
        ("Somewhere near the canal, two of us, Friday.", "the canal"),
        ("We are off to San Sebastián on the 4th, find beds.", "San Sebastián"),
        ("Tom wants to go to Oslo on Friday.", "Oslo"),
    ],
)
def test_a_place_is_told_from_people_and_days(request_text: str, value: str) -> None:
    assert find("city", "Town to search in", request_text) == value


@pytest.mark.parametrize(
    ("request_text", "value"),
    [
        ("Get Ines on the phone about the boiler guarantee, half an hour.", "the boiler guarantee"),
        ("Meeting with Ines re parking permits, Friday at 10:00.", "parking permits"),
        ("Ines and I must sort out the fence on Friday.", "the fence"),
        ("Subject: hedge cutting. Ines and Bob, Friday.", "hedge cutting"),
        ("Book the small hall on Friday, the topic is bicycle repair.", "bicycle repair"),
    ],
)
def test_a_topic_is_what_the_talk_is_about(request_text: str, value: str) -> None:
    assert find("topic", "What the meeting is about", request_text) == value


@pytest.mark.parametrize(
    ("request_text", "value"),
    [
        ("Could you order a good kettle for my sister by Friday?", "kettle"),
        ("Need 3 garden chairs, 80 euros at most.", "garden chairs"),
        ("rubber boots, please, size 41", "rubber boots"),
        ("We are out of printer paper. Nothing fancy.", "printer paper"),
        ("I want a pair of scissors for left-handers.", "pair of scissors"),
    ],
)
def test_a_thing_is_what_is_asked_for(request_text: str, value: str) -> None:
    assert find("article", "Kind of article", request_text) == value


@pytest.mark.parametrize(
    ("request_text", "value"),
    [
        ("Two pizzas to mine, with the note 'bell is broken, knock'.", "bell is broken, knock"),
        ("Two pizzas to mine. Note: ring twice. Thanks!", "ring twice"),
        ("Two pizzas to mine, and tell the driver that the gate is open.", "the gate is open"),
        ("Two pizzas to mine, and let them know we have no change", "we have no change"),
    ],
)
def test_a_note_runs_to_the_end_of_the_sentence(request_text: str, value: str) -> None:
    assert find("note", "Note for the driver", request_text) == value


def test_one_of_the_listed_values_is_taken_as_a_whole_word() -> None:
    lacquer = "Lacquer of the shelf: glossy or semi-glossy"
    assert find("lacquer", lacquer, "Two shelves, semi-glossy, by Friday.") == "semi-glossy"
    assert find("lacquer", lacquer, "Two shelves, Glossy, by Friday.") == "glossy"


@pytest.mark.parametrize(
    ("name", "description", "value"),
    [
        ("email", "Where the receipt goes", "ines@mail.example"),
        ("phone", "Number for questions", "+351 912 345 678"),
        ("duration", "How long the lane is kept", "90 minutes"),
        ("size", "Size of the shoe", "41"),
        ("code", "Voucher code", "SPRING26"),
        ("surface", "Kind of surface", None),
    ],
)
def test_values_of_a_known_shape_are_copied(name: str, description: str, value: str | None) -> None:
    request = "Keep it for 90 minutes, size 41, voucher SPRING26, ines@mail.example or +351 912 345 678."
    assert find(name, description, request) == value


def test_a_medium_size_is_medium() -> None:
    assert find("size", "Size of the box", "Send a medium size box to Ines.") == "medium"


@pytest.mark.parametrize(
    ("name", "description", "request_text", "value"),
    [
        ("from_city", "Town of departure", "A coach from Zadar to Split on Friday.", "Zadar"),
        ("to_city", "Destination", "A coach from Zadar to Split on Friday.", "Split"),
        ("address", "Delivery address", "Bring it to 14 Mill Lane on Friday.", "14 Mill Lane"),
        ("pickup", "Place of pickup", "Meet me at Gare du Nord at 10:00.", "Gare du Nord"),
        ("colour", "Colour of the paint", "Two tins of the blue paint for Friday.", "blue"),
        ("title", "Title of the entry", "Put a meeting called budget review in on Friday.", "budget review"),
        ("symptom", "What hurts", "My shoulder hurts, find somebody in Kyiv.", "shoulder"),
        ("reason", "Reason for the visit", "A vet, please, because of the dog's limp.", "the dog's limp"),
        ("agenda", "What is discussed", "Set up an hour with Ravi to discuss the merger.", "merger"),
        ("pet", "Kind of pet", "I want someone to walk the dog on Friday for two hours.", "dog"),
        ("plate", "Plate of the car", "Parking for AB-123-CD on Friday.", "AB-123-CD"),
    ],
)
def test_the_words_before_and_after_tell_which_value_is_meant(
    name: str, description: str, request_text: str, value: str
) -> None:
    assert find(name, description, request_text) == value


def test_words_that_say_nothing_are_no_value_whatever_leads_to_them() -> None:
    assert find("from_city", "Town of departure", "A coach from the place on Friday.") is None
    assert find("article", "What it is for", "Get me two for the kids.") is None


def test_a_text_about_a_time_gets_the_time() -> None:
    pickup = {"pickup": TEXT | {"description": "Time of the pickup"}}
    assert filled("A taxi to the station at 6:45 pm for Ines.", pickup) == {"pickup": "18:45"}


def test_two_arguments_of_one_call_do_not_share_their_words() -> None:
    request = "Get Ines on the phone about the boiler guarantee, reference HX-31."
    properties = {
        "person": TEXT | {"description": "Who is called"},
        "topic": TEXT | {"description": "What the call is about"},
        "reference": TEXT | {"description": "Reference of the contract"},
    }
    wanted = {"person": "Ines", "topic": "the boiler guarantee", "reference": "HX-31"}
    assert filled(request, properties, tuple(properties)) == wanted


def test_without_a_sign_a_required_text_is_the_clause_that_speaks_of_it() -> None:
    request = "Two pizzas to mine, leave the parcel box alone, by eight"
    assert clause("parcel", "Where the parcel stands", request) == "leave the parcel box alone"
    assert filled(request, {"note": TEXT | {"description": "Parcel remark"}}, ("note",))["note"] != request


def test_without_a_sign_an_optional_text_is_left_out_and_a_nullable_one_is_null() -> None:
    nullable = {"type": ["string", "null"], "description": "Voucher code"}
    assert filled("Two pizzas on Friday", {"code": nullable}) == {}
    assert filled("Two pizzas on Friday", {"code": nullable}, ("code",)) == {"code": None}


def test_a_field_of_the_items_that_the_request_names_comes_first() -> None:
    item = json.dumps({"id": "p1", "topping": "four cheeses"})
    text = f"## Request\nA pizza with four cheeses for Ines\n\n## Items\n{item}"
    schema = {"type": "object", "properties": {"topping": TEXT}, "required": ["topping"]}
    body = {"messages": [{"role": "user", "content": text}]}
    body["response_format"] = {"type": "json_schema", "json_schema": {"name": "x", "schema": schema}}
    assert json.loads(answer(body, embed)["content"]) == {"topping": "four cheeses"}


# fmt: off
BAD = [
    "", " ", "\n\n", "?!", '"', "'", "reference", "reference:", "reference is", 'reference "open end', "name: '",
    "about", "of of", "under the name", "tell them", "a" * 50_000, "reference " * 20_000, '"' * 9_000, "A-1 " * 9_000,
    "write on it " * 4_000, "\u202e\x00 reference \ud7ff",
]
# fmt: on


@pytest.mark.parametrize("request_text", BAD)
@pytest.mark.parametrize("name", ["reference", "name", "note", "topic", "city", "level", "email", "article", ""])
def test_bad_requests_give_a_short_text_or_none(name: str, request_text: str) -> None:
    found = find(name, "", request_text)
    assert found is None or 0 < len(found) <= 4000
    assert len(clause(name, "", request_text)) <= 80


def test_a_quotation_that_does_not_close_is_read_as_plain_words() -> None:
    assert find("reference", "Reference", 'Ten bags, reference "plot nine. Thanks') == "plot"


def test_a_line_break_ends_a_value() -> None:
    assert find("reference", "Reference", "Ten bags\nreference: greenhouse\nsend on Friday") == "greenhouse"


def test_a_value_far_behind_in_a_very_long_request_is_not_looked_for() -> None:
    assert find("reference", "Reference", "word. " * 5_000 + "reference GH-2047") is None


def test_pieces_are_runs_of_content_words_between_small_words_and_marks() -> None:
    text = "A sore back, back pain and 3 cups of tea for Mr. Obi over the weekend"
    found = [(piece.determiner, piece.before, piece.text) for piece in pieces(text)]
    assert found == [
        ("a", "|", "sore back"), ("", ",", "back pain"), ("", "#", "cups of tea"), ("", "for", "Mr. Obi"),
        ("the", "over", "weekend"),
    ]  # fmt: skip
