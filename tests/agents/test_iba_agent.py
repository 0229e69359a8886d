import json
from datetime import timedelta

from agents.contract import BadReply, Constraint, ConstraintKind, ConstraintStatus, Evidence, Reply
from agents.methods.iba.agent import run
from agents.methods.iba.consequences import consequences
from agents.methods.iba.model import EvidenceNet
from agents.methods.iba.retrieve import retrieve
from agents.methods.iba.think import accept, think
from agents.methods.iba.topics import asked_by_tools
from agents.methods.iba.verify import repair
from agents.toolkit.acting import Brief, Draft
from agents.toolkit.arguments import cleaned, described, options_in, problems
from bench.search.deep import deep_search
from tests.agents.agent_world import (
    AS_OF,
    BOOK_TRAIN,
    LIMITS,
    TRAINS,
    VOCABULARY,
    Scripted,
    StandIn,
    TrainDesk,
    history,
    menu_task,
    prompts_of,
    search_over,
    train_task,
)

EVENTS = history()
SEAT = Constraint(
    "c1", "travel.seat", "aisle", "Seat: Aisle. Gets up often.", evidence=("ev00",), status=ConstraintStatus.ACTIVE
)
GOOD = {"train_id": "t1", "date": "2026-03-13", "passengers": 2, "seat": "aisle"}
ITEMS = TRAINS[:2]


def checks(met: str, where: str = "seat") -> Reply:
    return Reply("", {"checks": [{"id": "c1", "met": met, "where": where}]})


def arguments(**changes) -> Reply:
    return Reply("", {"arguments": {**GOOD, **changes}})


def test_deep_retrieval_finds_what_the_request_does_not_mention() -> None:
    net = retrieve(menu_task(), llm=StandIn(), search=search_over(EVENTS), limits=LIMITS)
    texts = " ".join(item.text for item in net.evidence)
    assert "crown off" in texts
    assert "chillies" in texts
    assert [step.kind for step in net.trace] == ["search", "code", "code"]


def test_retrieval_drops_topics_that_the_vocabulary_lacks() -> None:
    llm = Scripted(topics=[Reply("", {"topics": ["travel.seat", "travel.moon", "travel.seat"]})])
    assert retrieve(train_task(), llm=llm, search=search_over(EVENTS), limits=LIMITS).topics == ("travel.seat",)


def test_a_parameter_that_offers_a_topics_options_asks_for_that_topic() -> None:
    assert asked_by_tools(train_task()) == ("travel.seat",)
    assert asked_by_tools(menu_task()) == ()


def test_a_reply_that_was_cut_off_still_gives_its_whole_rows() -> None:
    row = {
        "dimension": "travel.seat", "value": "aisle", "text": "", "polarity": "for", "kind": "trait", "scope": "",
        "valid_until": None, "strength": 0.8, "evidence": ["e1"],
    }  # fmt: skip
    raw = json.dumps({"constraints": [row, row, row]})

    class Cut(StandIn):
        def complete(self, messages, **values):
            if values["stage"] == "constraints":
                raise BadReply("cut off", raw[:-20])
            return super().complete(messages, **values)

    found = think(train_task(), EvidenceNet(EVENTS, ("travel.seat",)), llm=Cut()).constraints
    assert [(item.value, item.text) for item in found] == [
        ("aisle", "Seat: Aisle. Gets up often and does not want to ask anybody to move.")
    ] * 2


def test_deep_search_needs_no_model_and_never_gives_more_than_k() -> None:
    found = deep_search("aisle place on a train", search_over(EVENTS), 5, AS_OF)
    assert len(found) == 5
    assert len({item.event_id for item in found}) == 5


def test_deep_search_prefers_who_is_asked_about_and_who_does_not_ask() -> None:
    said = [
        f"{name}: the fair was {word} this year" for name in ("Ana", "Ben") for word in ("big", "wet", "odd", "long")
    ]
    texts = [
        *said,
        "Ana: the fair was loud this year.",
        "Ben: the fair was loud this year.",
        "Ana: the fair was loud this year?",
    ]
    events = [Evidence(f"ev{number}", AS_OF, "chat", text) for number, text in enumerate(texts)]
    found = deep_search("Was Ben at the loud fair?", search_over(events), 11, AS_OF)
    order = [item.text for item in found]
    assert order.index(texts[9]) < order.index(texts[8]) < order.index(texts[10])


def test_deep_search_looks_into_the_time_that_a_question_names() -> None:
    found = deep_search("what did the water company take last July?", search_over(EVENTS), 6, AS_OF)
    assert "ev14" in {item.event_id for item in found}  # 2025-07-19 bank


def test_a_constraint_without_a_known_citation_is_dropped() -> None:
    rows = [
        {"text": "Seat: Aisle.", "evidence": []},
        {"text": "x", "evidence": ["e99"]},
        {"text": "", "evidence": ["e1"]},
    ]
    assert accept(rows, EVENTS, VOCABULARY) == ()


def test_an_unknown_value_stays_open_and_a_state_ends_when_its_text_says() -> None:
    row = {
        "text": "Soft.",
        "evidence": ["e10"],
        "dimension": "dining.texture",
        "value": "liquid",
        "kind": "state",
        "valid_until": "2030-01-01",
    }
    (found,) = accept([row], EVENTS, VOCABULARY)
    assert (found.dimension, found.value) == ("dining.texture", "")
    assert found.valid_until is not None
    assert found.valid_until.isoformat() == "2026-03-21T00:00:00+00:00"  # "until the 20th"


def test_a_consequence_needs_a_running_state_cited_in_date_order() -> None:
    row = {"dimension": "dining.texture", "value": "soft", "text": "Soft food.", "kind": "trait"}
    offers = [{**row, "evidence": ["e10"]}, {**row, "evidence": ["e10", "e1"]}, {**row, "evidence": ["e1"]}]
    llm = Scripted(consequences=[Reply("", {"constraints": offers})])
    (found,) = consequences(menu_task(), EvidenceNet(EVENTS, ("dining.texture",)), (), llm=llm)
    assert found.evidence == ("ev09",)
    assert found.kind is ConstraintKind.STATE
    assert found.valid_until == AS_OF.replace(hour=0, minute=0) + timedelta(days=12)


def test_without_a_running_state_no_model_is_asked_for_consequences() -> None:
    assert consequences(menu_task(), EvidenceNet(EVENTS[:3], ()), (), llm=Scripted()) == ()


def test_code_finds_what_is_wrong_with_arguments() -> None:
    assert problems(GOOD, BOOK_TRAIN, ITEMS) == ()
    assert "train_id: 't9' is not the id of an item" in problems({**GOOD, "train_id": "t9"}, BOOK_TRAIN, ITEMS)[0]
    assert "'roof' is not one of" in problems({**GOOD, "seat": "roof"}, BOOK_TRAIN, ITEMS)[0]
    assert cleaned({**GOOD, "seat": None, "hat": 1}, BOOK_TRAIN) == {k: v for k, v in GOOD.items() if k != "seat"}


def test_options_are_read_with_and_without_brackets() -> None:
    wanted = {"aisle": "aisle seat", "window": "window seat"}
    assert options_in("Seat to reserve (aisle = aisle seat; window = window seat)") == wanted
    assert options_in("Seat to reserve: aisle = aisle seat; window = window seat") == wanted
    assert "seat = aisle (aisle seat)" in described(GOOD, BOOK_TRAIN, ITEMS)


def test_an_unmet_constraint_is_repaired_once_and_the_better_draft_kept() -> None:
    llm = Scripted(verify=[checks("no"), checks("yes")], draft=[arguments()])
    best, steps = repair(
        train_task(),
        Draft(arguments={**GOOD, "seat": "window"}, items=ITEMS),
        Brief(constraints=(SEAT,)),
        llm=llm,
        limits=LIMITS,
    )
    assert best.draft.arguments == GOOD
    assert [step.summary for step in steps] == ["Checked the first draft.", "Repair 1: kept."]
    assert "## Failed checks\n- [c1] Seat: Aisle." in prompts_of(llm, "draft")[0]


def test_no_more_than_the_allowed_repairs_are_made() -> None:
    drafts = [arguments(passengers=number) for number in (3, 4, 5)]
    llm = Scripted(verify=[checks("no")] * 4, draft=drafts)
    first = Draft(arguments=GOOD, items=ITEMS)
    best, _ = repair(train_task(), first, Brief(constraints=(SEAT,)), llm=llm, limits=LIMITS)
    assert len(llm.replies["draft"]) == 1
    assert best.draft == first  # none was better


def test_a_running_state_decides_the_menu_and_the_links_cite_it() -> None:
    done = run(menu_task(), llm=StandIn(), search=search_over(EVENTS), call_tool=TrainDesk(), limits=LIMITS)
    assert done.action is not None
    assert "Texture: Soft." in done.action.text
    assert any("ev09" in link.evidence for link in done.links)
    active = [item for item in done.constraints if item.status is ConstraintStatus.ACTIVE]
    assert all(set(item.evidence) <= {event.event_id for event in done.evidence} for item in active)
    assert {item.constraint_id for item in active} >= set(done.plan)
