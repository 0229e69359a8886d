import json
from dataclasses import replace
from datetime import UTC, datetime

import pytest

from agents.contract import (
    BadReply,
    Constraint,
    ConstraintKind,
    ConstraintStatus,
    Limits,
    Part,
    Stage,
    ToolSpec,
    UnusableReply,
)
from agents.methods.iba.act import act
from agents.methods.iba.agent import Parts, run
from agents.methods.iba.retrieve import FURTHER_LOOKS, action_day, counter_evidence, look_ahead, retrieve
from agents.methods.iba.stages import Alignment, Aspect, EvidenceNet, Outlook
from agents.methods.iba.think import accept, consequences, think
from agents.methods.iba.verify import repair
from agents.toolkit.acting import Brief, Draft
from agents.toolkit.arguments import cleaned, described, problems
from tests.agents.agent_world import (
    AS_OF,
    BOOK_TRAIN,
    LIMITS,
    TRAINS,
    TrainDesk,
    history,
    menu_task,
    search_over,
    train_task,
)
from tests.agents.player import Player, row

EVENTS = history()
SEAT = Constraint(
    "c1", "where to sit", "aisle", "Sits on the aisle.", evidence=("ev00",), status=ConstraintStatus.ACTIVE
)
GOOD = {"train_id": "t1", "date": "2026-03-13", "passengers": 2, "seat": "aisle"}
ITEMS = TRAINS[:2]
OUTLOOK = Outlook(
    AS_OF,
    (
        Aspect("food", ("Curry house with hot chillies.", "Soup and soft mash, no chewing after the dentist.")),
        Aspect("seat", ("An aisle place so that nobody has to move.", "By the window, looking at clouds.")),
    ),
)


def checks(met: str, where: str = "seat"):
    return {"checks": [{"id": "c1", "met": met, "where": where}]}


def arguments(**changes):
    return {"arguments": {**GOOD, **changes}}


def ids(net: EvidenceNet) -> set[str]:
    return {item.event_id for item in net.evidence}


def deep(llm: Player, limits: Limits = LIMITS, outlook: Outlook = OUTLOOK) -> EvidenceNet:
    return retrieve(menu_task(), outlook, (), llm=llm, search=search_over(EVENTS), limits=limits)


@pytest.mark.parametrize(
    ("when", "day"),
    [
        ("2026-03-13", datetime(2026, 3, 13, tzinfo=UTC)),
        ("2026-03-13T19:00", datetime(2026, 3, 13, tzinfo=UTC)),
        ("2026-03-01", AS_OF),  # over
        ("on Friday", AS_OF),
        ("", AS_OF),
    ],
)
def test_the_day_of_the_action_is_a_date_ahead_or_now(when: str, day: datetime) -> None:
    assert action_day(when, AS_OF) == day


def test_aspects_without_words_are_dropped_and_of_two_of_one_name_the_first_is_kept() -> None:
    named = [("Seat", ["a", "b"]), ("seat ", ["c", "d"]), (" ", ["e", "f"]), ("Food", ["", " "])]
    answer = {"when": "", "aspects": [{"name": name, "behaviours": found} for name, found in named]}
    outlook = look_ahead(train_task(), ITEMS, llm=Player(aspects=[answer]))
    assert outlook == Outlook(AS_OF, (Aspect("Seat", ("a", "b")),))


def test_deep_retrieval_finds_what_the_request_does_not_mention() -> None:
    net = deep(Player(), replace(LIMITS, evidence_events=20))
    texts = " ".join(item.text for item in net.evidence)
    assert "crown off" in texts
    assert "aisle place" in texts
    assert "now" in {item.aspect for item in net.evidence}
    assert [step.stage for step in net.trace] == [Stage.RETRIEVE] * 2


def test_every_aspect_has_its_share_and_an_eighth_of_the_budget_is_kept_back() -> None:
    net = deep(Player(), replace(LIMITS, evidence_events=16))
    assert len(net.evidence) == 14
    found = [item.aspect for item in net.evidence]
    assert min(found.count("food"), found.count("seat")) >= 2


def test_it_searches_on_with_what_the_model_asks_until_it_asks_no_more() -> None:
    ask = [{"queries": ["Dentist took the crown off", "wax out of a carpet"]}, {"queries": []}]
    llm = Player(queries=ask)
    net = deep(llm, outlook=Outlook(AS_OF, OUTLOOK.aspects[1:]))
    assert {"Dentist took the crown off", "wax out of a carpet"} & {item.aspect for item in net.evidence}
    assert len(llm.of("queries")) == 2
    assert "## Aspects\n- seat\n" in llm.of("queries")[0]


@pytest.mark.parametrize("times", [1, 2, 3])
def test_a_query_that_comes_again_brings_what_it_resembles_next(times: int) -> None:
    query = "Dentist took the crown off"
    llm = Player(queries=[*({"queries": [query]} for _ in range(times)), {"queries": []}])
    net = deep(llm, outlook=Outlook(AS_OF, ()))
    assert sum(item.aspect == query for item in net.evidence) == times


def test_further_looks_end_though_the_model_asks_for_ever() -> None:
    llm = Player(queries=lambda prompt: {"queries": ["Dentist took the crown off"]})
    net = deep(llm, replace(LIMITS, evidence_events=len(EVENTS)), outlook=Outlook(AS_OF, ()))
    assert len(llm.of("queries")) == FURTHER_LOOKS
    assert len(net.evidence) <= len(EVENTS)


def test_what_was_looked_at_in_a_further_look_is_reported() -> None:
    llm = Player(queries=lambda prompt: {"queries": []})
    net = deep(llm)
    shown = [item for item in EVENTS if item.text in llm.of("queries")[0]]
    assert shown
    assert {item.event_id for item in shown} <= ids(net)


def test_neighbours_in_time_of_a_strong_event_are_looked_at() -> None:
    beside = replace(EVENTS[9], event_id="beside", text="Same afternoon, something else", channel="chat")
    search = search_over((*EVENTS, beside))
    net = retrieve(
        menu_task(), Outlook(AS_OF, (Aspect("teeth", (EVENTS[9].text, "No dentist.")),)), (), llm=Player(),
        search=search,
        limits=replace(LIMITS, evidence_events=20),
    )  # fmt: skip
    assert "beside" in ids(net)


def test_counter_evidence_is_what_resembles_the_opposite_more_than_all_that_was_seen() -> None:
    net = EvidenceNet(tuple(item for item in EVENTS if item.event_id in {"ev06", "ev07"}))  # hot curries
    hot = replace(SEAT, counter="Dentist took the crown off, only soup and soft mash until the 20th.", strength=0.9)
    wider = counter_evidence(net, [hot], task=menu_task(), search=search_over(EVENTS), limits=LIMITS)
    assert "ev09" in ids(wider)
    assert next(item for item in wider.evidence if item.event_id == "ev09").aspect == "against c1"
    same = replace(SEAT, counter="Curry with hot chillies made my eyes water. Perfect.")
    assert counter_evidence(net, [same], task=menu_task(), search=search_over(EVENTS), limits=LIMITS).evidence == (
        net.evidence
    )


def test_what_counter_evidence_leaves_of_the_budget_is_filled_from_the_first_look() -> None:
    limits = replace(LIMITS, evidence_events=16)
    net = deep(Player(), limits)
    wider = counter_evidence(
        net, [replace(SEAT, counter="")], task=menu_task(), search=search_over(EVENTS), limits=limits
    )
    assert (len(net.evidence), len(wider.evidence)) == (14, 16)
    assert {item.aspect for item in wider.evidence} <= {"the request", "food", "seat", "now", "nearby"}


def test_the_first_event_is_the_best_of_the_request_and_every_other_lane_has_a_share() -> None:
    net = deep(Player(), replace(LIMITS, evidence_events=16))
    best = search_over(EVENTS)(menu_task().request, k=1)[0]
    assert next(item for item in net.evidence if item.event_id == best.event_id).aspect == "the request"


@pytest.mark.parametrize(("budget", "times"), [(100, 1), (8, 2)])
def test_it_thinks_again_only_if_something_new_came(budget: int, times: int) -> None:
    limits = replace(LIMITS, evidence_events=budget, evidence_tokens=100 * budget)
    llm = Player(constraints=lambda prompt: {"constraints": [row(counter="Dentist took the crown off.")]})
    done = run(menu_task(), llm=llm, search=search_over(EVENTS), call_tool=TrainDesk(), limits=limits)
    assert done.action is not None
    assert len(llm.of("notes")) == times


def test_a_reply_that_was_cut_off_still_gives_its_whole_rows() -> None:
    raw = json.dumps({"constraints": [row(), row(), row()]})

    class Cut(Player):
        def complete(self, messages, **values):
            if "constraints" in (values.get("schema") or {}).get("properties", {}):
                error = BadReply("cut off")
                error.replies = (UnusableReply(raw[:-20], raw[:-20]),)
                raise error
            return super().complete(messages, **values)

    found = think(train_task(), EvidenceNet(EVENTS), llm=Cut()).constraints
    assert [(item.about, item.value, item.text) for item in found] == [
        ("where to sit", "aisle", "Sits on the aisle.")
    ] * 2


def test_a_constraint_without_a_known_citation_or_without_words_is_dropped() -> None:
    rows = [row([]), row(["e99"]), row(text="", about="", value="")]
    assert accept(rows, EVENTS) == ()


def test_dates_are_taken_where_they_are_dates_and_fit() -> None:
    offered = [
        row(["e10"], kind="state", valid_until="2026-03-20"),
        row(["e10"], kind="state", valid_from="2026-03-07", valid_until="2026-03-07"),
        row(["e10"], kind="state", valid_until="2026-01-01"),  # before it was seen: no end
        row(["e10"], kind="state", valid_until="until the 20th"),
        row(["e10"], kind="trait", valid_until="2026-03-20"),  # a trait has no end
    ]
    found = accept(offered, EVENTS)
    assert [item.valid_until and item.valid_until.date().isoformat() for item in found] == [
        "2026-03-21",  # the 20th still counts
        "2026-03-08",
        None,
        None,
        None,
    ]
    assert found[0].valid_from == EVENTS[9].occurred_at
    assert found[1].valid_from == datetime(2026, 3, 7, tzinfo=UTC)


def test_consequences_are_constraints_like_others_and_need_something_to_follow_from() -> None:
    llm = Player(consequences=[{"constraints": [row(["e10"], about="how hard", value="soft", kind="state")]}])
    (found,) = consequences(menu_task(), EvidenceNet(EVENTS), (SEAT,), llm=llm)
    assert (found.constraint_id, found.kind, found.evidence) == ("x1", ConstraintKind.STATE, ("ev09",))
    assert consequences(menu_task(), EvidenceNet(EVENTS), (), llm=Player(consequences=[])) == ()


def test_code_finds_what_is_wrong_with_arguments() -> None:
    assert problems(GOOD, BOOK_TRAIN, ITEMS) == ()
    assert "train_id: 't9' is not the id of an item" in problems({**GOOD, "train_id": "t9"}, BOOK_TRAIN, ITEMS)[0]
    assert "'roof' is not one of" in problems({**GOOD, "seat": "roof"}, BOOK_TRAIN, ITEMS)[0]
    assert cleaned({**GOOD, "seat": None, "hat": 1}, BOOK_TRAIN) == {k: v for k, v in GOOD.items() if k != "seat"}


def test_a_call_is_described_by_its_arguments_and_the_item_chosen() -> None:
    assert described(GOOD, [BOOK_TRAIN], ITEMS).splitlines()[4:] == [
        "seat = aisle",
        "item train_id = id: t1, title: Northbound 08:40, city: Leeds, departs: 08:40, coach: table to draw together,"
        " price_eur: 40",
    ]


def test_an_unmet_constraint_is_repaired_once_and_the_better_draft_kept() -> None:
    llm = Player(checks=[checks("no"), checks("yes")], arguments=[arguments()])
    first = Draft(arguments={**GOOD, "seat": "window"}, items=ITEMS)
    best, steps = repair(train_task(), first, Brief(constraints=(SEAT,)), llm=llm, limits=LIMITS)
    assert best.draft.arguments == GOOD
    assert [step.summary for step in steps] == ["Checked the first draft.", "Repair 1: kept."]
    assert "## Failed checks\n- [c1] Sits on the aisle." in llm.of("arguments")[0]


def test_no_more_than_the_allowed_repairs_are_made() -> None:
    drafts = [arguments(passengers=number) for number in (3, 4, 5)]
    llm = Player(checks=[checks("no")] * 4, arguments=drafts)
    first = Draft(arguments=GOOD, items=ITEMS)
    best, _ = repair(train_task(), first, Brief(constraints=(SEAT,)), llm=llm, limits=LIMITS)
    assert len(drafts) == 1
    assert best.draft == first  # none was better


def test_an_unresolved_hard_constraint_leaves_the_argument_null_and_is_asked() -> None:
    fields = BOOK_TRAIN.parameters["properties"]
    seat = {**fields["seat"], "type": ["string", "null"], "enum": ["aisle", "window", None]}
    schema = {**BOOK_TRAIN.parameters, "properties": {**fields, "seat": seat}}
    task = train_task(tools=(train_task().tools[0], ToolSpec("book_train", "Buys the ticket.", schema, commits=True)))
    left_open = tuple(
        replace(SEAT, constraint_id=f"c{n}", value=value, strength=0.8, status=ConstraintStatus.UNRESOLVED)
        for n, value in enumerate(("aisle", "window"), 1)
    )
    llm = Player(arguments=[arguments(seat=None)])
    done = act(task, Alignment(left_open), EVENTS, TRAINS, llm=llm, call_tool=TrainDesk(), limits=LIMITS)
    assert done.action is not None
    assert done.action.would_ask == ("seat",)
    assert "## Unresolved\n[c1]" in llm.of("arguments")[0]


def test_links_lead_from_the_argument_to_the_events_that_its_constraint_cites() -> None:
    llm = Player(arguments=[arguments()], checks=[checks("yes")])
    done = act(train_task(), Alignment((SEAT,)), EVENTS, TRAINS, llm=llm, call_tool=TrainDesk(), limits=LIMITS)
    assert [(link.part, link.constraint_id, link.evidence) for link in done.links] == [
        (Part.argument("seat"), "c1", ("ev00",))
    ]


@pytest.mark.parametrize("where", ["", "roof", "0", "9"])
def test_a_check_that_names_no_place_gives_no_link(where: str) -> None:
    llm = Player(arguments=[arguments()], checks=[checks("yes", where)])
    done = act(train_task(), Alignment((SEAT,)), EVENTS, TRAINS, llm=llm, call_tool=TrainDesk(), limits=LIMITS)
    assert done.links == ()


def test_the_whole_line_keeps_to_the_model_calls_that_every_method_has() -> None:
    """Even with further looks, counter-evidence and two repairs."""
    llm = Player(
        queries=lambda prompt: {"queries": [f"something else {len(prompt)}"]},
        constraints=lambda prompt: {"constraints": [row(scope="at sea", counter="Window seats only.")]},
        scopes=lambda prompt: {"scopes": [{"id": "s1", "holds": "yes"}]},
        checks=lambda prompt: checks("no"),
        arguments=lambda prompt: arguments(passengers=len(prompt)),
    )
    done = run(train_task(), llm=llm, search=search_over(EVENTS), call_tool=TrainDesk(), limits=LIMITS)
    assert done.action is not None
    assert len(llm.prompts) <= LIMITS.model_calls


def test_each_ablation_lacks_its_part_and_nothing_else() -> None:
    def kinds(**parts: bool) -> set[str]:
        llm = Player()
        run(
            train_task(),
            llm=llm,
            search=search_over(EVENTS),
            call_tool=TrainDesk(),
            limits=LIMITS,
            parts=Parts(**parts),
        )
        return {kind for kind, _ in llm.prompts}

    whole = kinds()
    assert whole - kinds(deep_retrieval=False) == {"queries"}
    assert whole - kinds(broad_thinking=False) == {"notes", "constraints", "consequences", "plan", "checks"}
    assert whole - kinds(synthesis=False) == {"plan", "checks"}
