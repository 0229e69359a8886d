"""What an AI judge is asked, and what of its reply counts. Calling the model is somebody else's work."""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import date
from pathlib import Path
from string import Template

from agents.contract import Action, ActionKind
from bench.grading.neutralise import block, one_line
from bench.grading.types import VerdictValue

RUBRIC_VERSION = "1"  # raise it with every change of prompts/judge.md or of what is shown to judges
MAX_CANDIDATE_CHARS = 24_000

_PROMPT = Path(__file__).parent / "prompts" / "judge.md"
_FIRST_SECTION = "## Request\n"


@dataclass(frozen=True, slots=True)
class GoldEvidence:
    """One event behind a checkpoint."""

    occurred_on: date
    channel: str
    text: str


@dataclass(frozen=True, slots=True)
class JudgedCheckpoint:
    """A checkpoint as judges see it. ``id`` is short and local to the prompt: k1, k2, ..."""

    id: str
    text: str
    evidence: tuple[GoldEvidence, ...] = ()


@dataclass(frozen=True, slots=True)
class JudgeResult:
    """What one reply is worth. Every id asked for is in ``verdicts`` or in ``unscored``, never in both.

    ``verdicts``: id -> (value, rationale). ``unscored``: id -> reason.
    ``rejected``: what came back under ids that nobody asked for.
    """

    verdicts: dict[str, tuple[VerdictValue, str]]
    unscored: dict[str, str]
    rejected: tuple[str, ...]
    raw: str


def messages(request: str, checkpoints: Sequence[JudgedCheckpoint], candidate: str) -> list[dict[str, str]]:
    """The system and the user message for one candidate. Nothing says which agent or model wrote it."""
    if not checkpoints:
        raise ValueError("a judge needs at least one checkpoint")
    fields = {
        "request": one_line(request),
        "checkpoints": "\n".join(f"[{k.id}] {one_line(k.text)}" for k in checkpoints),
        "evidence": "\n".join(_evidence_lines(checkpoints)) or "(none)",
        "candidate": _cut(block(candidate)).strip() or "(the candidate is empty)",
        "ids": ", ".join(k.id for k in checkpoints),
    }
    # a text cannot hold the hash of itself, so no candidate can name its own delimiter
    fields["nonce"] = hashlib.sha256(json.dumps([RUBRIC_VERSION, fields]).encode()).hexdigest()[:16]
    system, user = _PROMPT.read_text(encoding="utf-8").split(_FIRST_SECTION, 1)
    return [
        {"role": "system", "content": Template(system).substitute(fields).strip()},
        {"role": "user", "content": Template(_FIRST_SECTION + user).substitute(fields).strip()},
    ]


def render_action(action: Action | None) -> str:
    """An agent's action as the candidate text: the text itself, or the call with its arguments as JSON."""
    if action is None:
        return ""
    if action.kind is ActionKind.GENERATE:
        return action.text
    arguments = json.dumps(action.arguments, ensure_ascii=False, indent=1, sort_keys=True)
    return f"called {' and '.join((action.tool, *action.then))} with\n{arguments}"


def schema(ids: Sequence[str]) -> dict[str, object]:
    """Strict JSON schema of a reply. The rationale comes first, so that it is not an afterthought."""
    verdict = {
        "type": "object",
        "properties": {
            "id": {"type": "string", "enum": list(ids)},
            "rationale": {"type": "string"},
            "verdict": {"type": "string", "enum": [value.value for value in VerdictValue]},
        },
        "required": ["id", "rationale", "verdict"],
        "additionalProperties": False,
    }
    return {
        "type": "object",
        "properties": {"verdicts": {"type": "array", "items": verdict}},
        "required": ["verdicts"],
        "additionalProperties": False,
    }


def parse(reply: str | Mapping[str, object] | None, ids: Sequence[str]) -> JudgeResult:
    """Reads a reply, as text or already parsed. Never raises and never guesses: what is missing is unscored.

    A text counts only where it is one JSON object, alone or in one code
    fence. An id given twice with different verdicts is unscored.
    """
    raw = reply if isinstance(reply, str) else json.dumps(reply, ensure_ascii=False, default=str)
    entries, problem = _entries(reply)
    found: dict[str, list[Mapping[str, object]]] = {}
    rejected = []
    for entry in entries:
        key = entry.get("id") if isinstance(entry, Mapping) else None
        if isinstance(entry, Mapping) and isinstance(key, str) and key in ids:
            found.setdefault(key, []).append(entry)
        else:
            rejected.append(f"unknown id in {str(entry)[:200]}")
    verdicts: dict[str, tuple[VerdictValue, str]] = {}
    unscored: dict[str, str] = {}
    for key in ids:
        verdict = _one_verdict(found.get(key, []))
        if isinstance(verdict, str):
            unscored[key] = problem or verdict
        else:
            verdicts[key] = verdict
    return JudgeResult(verdicts, unscored, tuple(rejected), raw)


def is_own_family(judge_family: str, agent_family: str) -> bool:
    """Whether a judge is of the agent's model family; an unknown family ("") is nobody's own."""
    judge, agent = judge_family.strip().casefold(), agent_family.strip().casefold()
    return bool(judge) and judge == agent


_QUOTED = re.compile(r"(?<!\w)'[^']*'(?!\w)|\"[^\"]*\"|\u201c[^\u201d]*\u201d")
_GOAL = r"(?:checkpoint|criteri(?:on|a)|requirement|condition)"
_NOT = r"(?:not|n't|n\u2019t|never|fails? to|failed to|without)"
_SAYS_FAIL = re.compile(
    rf"{_NOT}\s+(?:\w+\s+){{0,2}}(?:meet|met|satisf\w+|fulfil\w*|comply|complied)\b"
    rf"|\b(?:fails?|violat\w+|miss(?:es|ed)?)\s+(?:the|this|that)\s+{_GOAL}"
    rf"|{_GOAL}\s+(?:is|was)\s+(?:unmet|missed|violated|failed)"
    r"|\b(?:verdict|grade|answer)\s*(?:is|:|=)\s*\W?fail\b|\bunmet\b|\bso (?:it|this) fails\b",
    re.IGNORECASE,
)
_SAYS_PASS = re.compile(
    r"(?<!not )(?<!n't )\b(?:meets?|met|satisf(?:y|ies|ied)|fulfil(?:l?s|led)?)\s+"
    rf"(?:the|this|that)\s+{_GOAL}"
    rf"|{_GOAL}\s+(?:is|was)\s+(?:fully |clearly )?(?:met|satisfied|fulfilled|passed)"
    r"|\b(?:verdict|grade|answer)\s*(?:is|:|=)\s*\W?pass\b|\bso (?:it|this) passes\b",
    re.IGNORECASE,
)


def contradicts(value: VerdictValue, rationale: str) -> bool:
    """Whether a rationale concludes the opposite of its verdict.

    Looks for words of conclusion only ("does not meet", "the checkpoint is
    met"), so that a pass for *not* doing something is no contradiction. A
    rationale that says both is left alone, and so is what it quotes. The flag
    sends a case to people and never changes a verdict.
    """
    own_words = _QUOTED.sub(" ", rationale)
    fails, passes = bool(_SAYS_FAIL.search(own_words)), bool(_SAYS_PASS.search(own_words))
    if fails == passes:
        return False
    return value is (VerdictValue.PASS if fails else VerdictValue.FAIL)


def _evidence_lines(checkpoints: Sequence[JudgedCheckpoint]) -> list[str]:
    return [
        f"[{k.id}] {event.occurred_on.isoformat()} {one_line(event.channel)}: {one_line(event.text)}"
        for k in checkpoints
        for event in k.evidence
    ]


def _cut(text: str) -> str:
    """Head and tail of a text that is too long, with a note of what is missing."""
    if len(text) <= MAX_CANDIDATE_CHARS:
        return text
    half = MAX_CANDIDATE_CHARS // 2
    return f"{text[:half]}\n(here {len(text) - 2 * half} characters are left out)\n{block(text[-half:])}"


def _entries(reply: str | Mapping[str, object] | None) -> tuple[list[object], str]:
    """The list of verdicts in a reply, and what is wrong with the whole reply ("" where nothing is)."""
    if isinstance(reply, str):
        fenced = re.fullmatch(r"\s*```(?:json)?\s*\n(.*?)\n?\s*```\s*", reply, re.DOTALL)
        try:
            reply = json.loads(fenced[1] if fenced else reply, object_pairs_hook=_no_duplicate_keys)
        except (ValueError, RecursionError) as error:
            return [], f"the reply is not JSON: {error}"[:200]
    entries = reply.get("verdicts") if isinstance(reply, Mapping) else None
    return (entries, "") if isinstance(entries, list) else ([], "the reply has no list of verdicts")


def _no_duplicate_keys(pairs: list[tuple[str, object]]) -> dict[str, object]:
    keys = [key for key, _ in pairs]
    if len(set(keys)) != len(keys):
        raise ValueError(f"a key is given twice among {keys}")
    return dict(pairs)


def _one_verdict(entries: Sequence[Mapping[str, object]]) -> tuple[VerdictValue, str] | str:
    """The verdict that the entries of one id agree on, or the reason why there is none."""
    if not entries:
        return "no verdict for this id"
    grades = [entry.get("verdict") for entry in entries]
    menu = [value.value for value in VerdictValue]
    for grade in grades:
        if not isinstance(grade, str) or grade not in menu:
            return f"off-menu grade {str(grade)[:80]!r}; allowed are {', '.join(menu)}"
    if len(set(grades)) > 1:
        return f"different verdicts under one id: {', '.join(sorted(set(map(str, grades))))}"
    rationale = entries[0].get("rationale")
    if not isinstance(rationale, str) or not rationale.strip():
        return "no rationale"
    return VerdictValue(str(grades[0])), rationale
