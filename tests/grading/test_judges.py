import json
import re
import sys
import unicodedata
from datetime import date

import jsonschema
import pytest
from hypothesis import given
from hypothesis import strategies as st

from agents.contract import Action, ActionKind
from bench.grading.judges import (
    GoldEvidence,
    JudgedCheckpoint,
    contradicts,
    is_own_family,
    messages,
    parse,
    render_action,
    schema,
)
from bench.grading.neutralise import _UNUSUAL, _invisible, block, one_line
from bench.grading.types import VerdictValue
from tests.grading.hostile import HOSTILE

P, F, C = VerdictValue.PASS, VerdictValue.FAIL, VerdictValue.CANNOT_JUDGE
CHECKPOINTS = (
    JudgedCheckpoint(
        "k1",
        "The main dish needs no chewing.",
        (GoldEvidence(date(2026, 3, 11), "calendar", "09:40 Dr. Okafor, crown comes off"),),
    ),
    JudgedCheckpoint("k2", "The table is booked for two."),
)
SECTIONS = ["## Request", "## Checkpoints", "## Gold evidence", "## Candidate", "## Answer"]


def user_prompt(candidate, request="Somewhere for Friday with Ana?", checkpoints=CHECKPOINTS):
    return messages(request, checkpoints, candidate)[1]["content"]


def lines_of(prompt):
    return prompt.split("\n")


def delimiters(prompt):
    return [line for line in lines_of(prompt) if re.match("<<<(END )?CANDIDATE [0-9a-f]{16}>>>$", line)]


def test_the_prompt_holds_request_checkpoints_evidence_and_candidate():
    system, user = messages("Somewhere for Friday with Ana?", CHECKPOINTS, "Soup at Lena's.\nTable for two.")
    assert (system["role"], user["role"]) == ("system", "user")
    assert [line for line in lines_of(user["content"]) if line.startswith("## ")] == SECTIONS
    for text in (
        "## Request\nSomewhere for Friday with Ana?\n",
        "[k1] The main dish needs no chewing.\n[k2] The table is booked for two.\n",
        "[k1] 2026-03-11 calendar: 09:40 Dr. Okafor, crown comes off\n",
        "Soup at Lena's.\nTable for two.\n<<<END",
        "Grade these checkpoints, each once: k1, k2.",
    ):
        assert text in user["content"]
    for rule in ("cannot_judge", "never an instruction", "vague", '"verdicts"'):
        assert rule in system["content"]
    nonce = delimiters(user["content"])[0].split()[-1].removesuffix(">>>")
    assert nonce in system["content"]


def test_the_prompt_never_names_what_is_not_asked_for():
    prompt = str(messages("r", CHECKPOINTS, "c"))
    assert not re.search(r"\$\w|gpt|iba|offline", prompt, re.IGNORECASE)


def test_the_nonce_follows_the_content():
    assert delimiters(user_prompt("a")) == delimiters(user_prompt("a"))
    assert delimiters(user_prompt("a")) != delimiters(user_prompt("b"))
    assert delimiters(user_prompt("a")) != delimiters(user_prompt("a", request="other"))


def test_there_are_more_than_thirty_hostile_texts():
    assert len(set(HOSTILE)) >= 30


@pytest.mark.parametrize("candidate", HOSTILE, ids=range(len(HOSTILE)))
def test_a_hostile_candidate_stays_between_its_delimiters(candidate):
    prompt = user_prompt(candidate)
    lines = lines_of(prompt)
    assert len(delimiters(prompt)) == 2
    start, end = (lines.index(line) for line in delimiters(prompt))
    outside = lines[:start] + lines[end + 1 :]
    harmless = lines_of(user_prompt("Soup."))
    at = harmless.index(delimiters("\n".join(harmless))[0])
    assert outside == harmless[:at] + harmless[at + 3 :]


@pytest.mark.parametrize("candidate", HOSTILE, ids=range(len(HOSTILE)))
def test_a_hostile_candidate_forges_no_structure(candidate):
    lines = lines_of(user_prompt(candidate))
    inside = lines[lines.index("## Candidate") + 2 : lines.index("## Answer") - 2]
    for line in inside:
        assert not re.match(r"[\s>*]*(#|---|===|```|\[k\d+\]|(system|assistant|human|user)\s*:)", line, re.IGNORECASE)
        assert "<<<" not in line
        assert "<|" not in line
        assert all(unicodedata.category(char)[0] != "C" for char in line)
    assert [line for line in lines if line.startswith("## ")] == SECTIONS


@pytest.mark.parametrize("text", HOSTILE, ids=range(len(HOSTILE)))
def test_requests_and_histories_forge_no_structure_either(text):
    gold = (GoldEvidence(date(2026, 3, 11), text[:40], text),)
    lines = lines_of(user_prompt("Soup.", request=text, checkpoints=(JudgedCheckpoint("k1", "Soft food.", gold),)))
    assert [line for line in lines if line.startswith("## ")] == SECTIONS
    assert sum(line.startswith("[k1]") for line in lines) == 2  # the checkpoint and its one event
    assert len(delimiters("\n".join(lines))) == 2


@pytest.mark.parametrize("candidate", HOSTILE, ids=range(len(HOSTILE)))
def test_a_hostile_candidate_given_back_as_the_reply_scores_nothing_it_was_not_asked(candidate):
    result = parse(candidate, ["other"])
    assert result.verdicts == {}
    assert set(result.unscored) == {"other"}


@pytest.mark.parametrize("candidate", HOSTILE, ids=range(len(HOSTILE)))
def test_a_reply_that_quotes_a_hostile_candidate_is_read_by_its_verdicts_alone(candidate):
    verdicts = [{"id": key, "rationale": f"says: {candidate}", "verdict": "fail"} for key in ("k1", "k2")]
    for reply in ({"verdicts": verdicts}, json.dumps({"verdicts": verdicts})):
        result = parse(reply, ["k1", "k2"])
        assert {key: value for key, (value, _) in result.verdicts.items()} == {"k1": F, "k2": F}


def test_a_candidate_cannot_name_its_own_nonce():
    text = "Soup."
    for _ in range(3):  # each try changes the nonce that it chases
        nonce = delimiters(user_prompt(text))[0].split()[-1].removesuffix(">>>")
        text += f"\nEND CANDIDATE {nonce}"
    assert delimiters(user_prompt(text))[0].split()[-1].removesuffix(">>>") not in text


def test_a_long_candidate_is_cut_in_the_middle_and_says_so():
    prompt = user_prompt("start " + "x" * 50_000 + " end")
    assert len(prompt) < 26_000
    assert "start " in prompt
    assert " end\n" in prompt
    assert "(here 26010 characters are left out)" in prompt


def test_an_empty_candidate_is_shown_as_empty():
    assert "(the candidate is empty)" in user_prompt(" \n")


def test_no_checkpoint_is_an_error():
    with pytest.raises(ValueError, match="at least one checkpoint"):
        messages("r", (), "c")


@given(st.text())
def test_neutralising_twice_changes_nothing_more(text):
    assert block(block(text)) == block(text)
    assert one_line(one_line(text)) == one_line(text)
    assert "\n" not in one_line(text)


def test_plain_text_is_left_as_it_is():
    text = "Soup at Lena's, 19:30 (2 people) - EUR 25, 50% off; a < b.\n\n- soft bread\n1. Ana's pick"
    assert block(text) == text


def test_actions_are_rendered_as_what_was_done():
    call = Action(ActionKind.CALL_API, tool="book_train", arguments={"seat": "aisle", "date": "2026-03-14"})
    assert render_action(call) == 'called book_train with\n{\n "date": "2026-03-14",\n "seat": "aisle"\n}'
    assert render_action(Action(ActionKind.GENERATE, text="Soup.")) == "Soup."
    assert render_action(None) == ""


def entry(key="k1", verdict="pass", rationale="seen"):
    return {"id": key, "rationale": rationale, "verdict": verdict}


def test_a_whole_reply_gives_a_verdict_for_each_id():
    reply = json.dumps({"verdicts": [entry(), entry("k2", "cannot_judge", "no time given")]})
    result = parse(reply, ["k1", "k2"])
    assert result.verdicts == {"k1": (P, "seen"), "k2": (C, "no time given")}
    assert (result.unscored, result.rejected, result.raw) == ({}, (), reply)
    assert parse(f"```json\n{reply}\n```", ["k1", "k2"]).verdicts == result.verdicts


def test_the_schema_accepts_a_whole_reply_and_refuses_others():
    good = {"verdicts": [entry(), entry("k2", "fail")]}
    jsonschema.validate(good, schema(["k1", "k2"]))
    for bad in ({}, {"verdicts": [entry("k3")]}, {"verdicts": [entry(verdict="maybe")]}, good | {"note": 1}):
        with pytest.raises(jsonschema.ValidationError):
            jsonschema.validate(bad, schema(["k1", "k2"]))


@pytest.mark.parametrize(
    ("reply", "reason"),
    [
        ("All checkpoints pass.", "not JSON"),
        ("", "not JSON"),
        (None, "no list of verdicts"),
        ("pass", "not JSON"),
        ('Sure! {"verdicts": [{"id": "k1", "rationale": "", "verdict": "pass"}]}', "not JSON"),
        ('{"verdicts": [{"id": "k1", "rationale": "", "verdict": "pass"}', "not JSON"),
        ('{"verdicts": [], "verdicts": [{"id": "k1", "rationale": "", "verdict": "pass"}]}', "given twice"),
        ("[" * 100_000, "not JSON"),
        ("[]", "no list of verdicts"),
        ('{"verdicts": {"k1": "pass"}}', "no list of verdicts"),
        ({"k1": "pass"}, "no list of verdicts"),
        ({"verdicts": []}, "no verdict for this id"),
        ({"verdicts": ["pass", None, 3]}, "no verdict for this id"),
        ({"verdicts": [entry("K1")]}, "no verdict for this id"),
        ({"verdicts": [entry("[k1]")]}, "no verdict for this id"),
        ({"verdicts": [entry(verdict="PASSED")]}, "off-menu grade 'PASSED'"),
        ({"verdicts": [entry(verdict="Pass")]}, "off-menu grade"),
        ({"verdicts": [entry(verdict="")]}, "off-menu grade"),
        ({"verdicts": [entry(verdict=True)]}, "off-menu grade"),
        ({"verdicts": [entry(verdict=None)]}, "off-menu grade"),
        ({"verdicts": [entry(verdict=["pass"])]}, "off-menu grade"),
        ({"verdicts": [{"id": "k1", "rationale": "x"}]}, "off-menu grade"),
        ({"verdicts": [{"id": "k1", "verdict": "pass"}]}, "no rationale"),
        ({"verdicts": [entry(rationale=" ")]}, "no rationale"),
        ({"verdicts": [entry(), entry(verdict="fail")]}, "different verdicts under one id"),
        ({"verdicts": [entry(), entry(verdict="maybe")]}, "off-menu grade 'maybe'"),
    ],
)
def test_what_is_not_a_verdict_is_unscored_with_a_reason(reply, reason):
    result = parse(reply, ["k1"])
    assert result.verdicts == {}
    assert reason in result.unscored["k1"]


def test_unknown_ids_are_rejected_and_the_others_still_count():
    result = parse({"verdicts": [entry("k9"), entry("k1"), {"verdict": "pass"}]}, ["k1", "k2"])
    assert result.verdicts == {"k1": (P, "seen")}
    assert result.unscored == {"k2": "no verdict for this id"}
    assert len(result.rejected) == 2
    assert "k9" in result.rejected[0]


def test_the_same_verdict_twice_counts_once():
    assert parse({"verdicts": [entry(), entry()]}, ["k1"]).verdicts == {"k1": (P, "seen")}


json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=8) | st.sampled_from(["k1", "pass", "fail"]),
    lambda inner: (
        st.lists(inner, max_size=4)
        | st.dictionaries(st.sampled_from(["verdicts", "id", "verdict", "rationale", "x"]), inner, max_size=4)
    ),
    max_leaves=12,
)


@given(json_values)
def test_any_reply_puts_every_id_in_exactly_one_place(value):
    for reply in (json.dumps(value), value if isinstance(value, dict) else None):
        result = parse(reply, ["k1", "k2"])
        assert set(result.verdicts) | set(result.unscored) == {"k1", "k2"}
        assert not set(result.verdicts) & set(result.unscored)


@given(st.text(max_size=60))
def test_prose_never_passes(text):
    assert parse(text, ["k1"]).verdicts == {}


@pytest.mark.parametrize(
    ("value", "rationale", "flagged"),
    [
        (P, "The soup does not meet the checkpoint.", True),
        (P, "It fails the requirement to be soft.", True),
        (P, "The candidate didn't fully satisfy this.", True),
        (P, "Verdict: fail", True),
        (P, "The requirement is unmet.", True),
        (F, "The checkpoint is met by the soup.", True),
        (F, "Soup satisfies the requirement.", True),
        (F, "So the answer is pass.", True),
        (P, "The candidate does not book a window seat, as the checkpoint asks.", False),
        (P, "It meets the requirement.", False),
        (F, "It does not meet the requirement.", False),
        (F, "Nothing says that the dish is soft.", False),
        (C, "The checkpoint is met or it does not meet the criterion.", False),
        (C, "The requirement is unmet.", False),
        (P, 'It says "this does not meet the requirement", which is a joke.', False),
        (F, "The line is 'the checkpoint is met by Lena', and it isn't soft.", False),
        (P, "", False),
    ],
)
def test_a_rationale_that_concludes_the_opposite_is_flagged(value, rationale, flagged):
    assert contradicts(value, rationale) is flagged


def test_a_judge_of_the_agents_family_is_known_by_name():
    assert is_own_family("Qwen", " qwen ")
    assert not is_own_family("qwen", "llama")
    assert not is_own_family("", "")


def test_a_text_that_is_not_looked_at_letter_by_letter_hides_nothing():
    plain = [chr(code) for code in range(sys.maxunicode + 1) if not _UNUSUAL.search(chr(code))]
    assert len(plain) > 500
    assert [char for char in plain if _invisible(char)] == ["\n"]
