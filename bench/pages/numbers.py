"""How numbers and names are written, on pages and in the terminal: shares with two decimals, everywhere."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime, timedelta
from functools import lru_cache
from typing import Any

from agents.registry import resolve
from bench.models import Checkpoint
from bench.results.measures import HEADLINE_COVERAGE
from bench.statistics.intervals import ROUNDING

DASH = "–"
MINUS = "−"

Measure = Mapping[str, Any]


def share(value: object) -> str:
    """0.78, or −0.03; <0.01 and >0.99 for what is not quite 0 or 1; a dash for None and for what a template misses."""
    if not isinstance(value, float | int):
        return DASH
    if value < 0:
        return f"{MINUS}{share(-value)}" if value < -ROUNDING else share(0)
    if ROUNDING < value < 0.005:
        return "<0.01"
    return ">0.99" if 0.995 <= value < 1 else f"{value:.2f}"


def signed(value: float | None) -> str:
    """+0.20 or −0.03, with a real minus sign; a difference that is not nothing is never written as 0.00."""
    if value is None:
        return DASH
    return f"{'+' if value > 0 else MINUS}{share(abs(value))}" if abs(value) > ROUNDING else share(0)


def interval(measure: Measure, *, sign: bool = False) -> str:
    """(0.74–0.81), or "" where there is none."""
    low, high = measure.get("low"), measure.get("high")
    if low is None or high is None:
        return ""
    write = signed if sign else share
    return f"({write(low)}{' to ' if sign else DASH}{write(high)})"


def p_value(value: object) -> str:
    """0.03, or <0.001 where it is smaller; a dash for no number, which is what a template passes for a missing key."""
    if not isinstance(value, float | int):
        return DASH
    return "<0.001" if value < 0.001 else f"{value:.3f}" if value < 0.01 else f"{value:.2f}"


def pair_words(pair: Mapping[str, Any]) -> str:
    """What a paired difference says; an interval that contains zero is never read as a lead."""
    if pair.get("difference") is None:
        return "no unit that both have scored"
    if pair["distinguishable"] is None:
        return "simulated, not compared"
    if not pair["distinguishable"]:
        return "not distinguishable"
    ahead = f"{method_label(pair['a'] if pair['difference'] > 0 else pair['b'])} is ahead"
    adjusted = pair.get("p_holm")
    return ahead if adjusted is None or adjusted < 0.05 else f"{ahead} on its own, not after Holm"


def percent(value: float | None) -> str:
    """41%; a share that is not nothing is never written as 0%, and one that is not all never as 100%."""
    if value is None:
        return DASH
    if 0 < value < 0.005:
        return "<1%"
    return ">99%" if 0.995 <= value < 1 else f"{value * 100:.0f}%"


def usd(value: float | None) -> str:
    """$8.10; cents are kept small amounts long enough to be seen."""
    if value is None:
        return DASH
    return f"${value:,.2f}" if value == 0 or value >= 0.01 else "<$0.01"


def seconds(value: float | None) -> str:
    """320 ms, 9.2 s, 4 min 10 s or 2 h 5 min."""
    if value is None:
        return DASH
    if value < 1:
        return f"{value * 1000:.0f} ms"
    if value < 60:
        return f"{value:.1f} s"
    minutes, rest = divmod(round(value), 60)
    if minutes < 60:
        return f"{minutes} min {rest} s" if rest else f"{minutes} min"
    return f"{minutes // 60} h {minutes % 60} min"


def clock(moment: datetime | timedelta | float | None, now: datetime) -> str:
    """When something will end, as a clock time; takes a moment, a span or seconds from now."""
    if moment is None:
        return DASH
    if not isinstance(moment, datetime):
        moment = now + (moment if isinstance(moment, timedelta) else timedelta(seconds=moment))
    if moment.date() == now.date():
        return f"{moment:%H:%M}"
    return f"{moment:%a} {moment.day} {moment:%b %H:%M}"


def coverage(cell: Mapping[str, Any]) -> float | None:
    """Evaluated over planned units, 0..1; None where nothing was planned."""
    return cell["evaluated"] / cell["planned"] if cell.get("planned") else None


def withheld(cell: Mapping[str, Any]) -> str:
    """Why this cell has no headline number, or ""."""
    covered = coverage(cell)
    if covered is None:
        return "nothing was planned"
    if covered >= HEADLINE_COVERAGE:
        return ""
    # 94.6% must not read as 95%.
    done = f"evaluated {cell['evaluated']:,} of {cell['planned']:,} ({int(covered * 100)}%)"
    return f"{done}; no headline below {HEADLINE_COVERAGE:.0%}"


@lru_cache(maxsize=256)
def method_label(name: str) -> str:
    """The method's name for people; the given name where it is not registered any more."""
    try:
        return resolve(name).label
    except ValueError:
        return name


def method_short(name: str) -> str:
    """A name for narrow places: no history, or − synthesis for an ablation."""
    head, _, part = name.partition("-")
    return f"{MINUS} {part.replace('_', ' ')}" if part else head.replace("_", " ")


def method_class(name: str) -> str:
    """The CSS class that carries the method's one colour."""
    if "-" in name:
        return "m-ablation"
    return f"m-{name}" if name in METHOD_COLOURS else "m-other"


def method_colour(name: str) -> str:
    """The same colour as a CSS value, for marks in charts."""
    return f"var(--{method_class(name)})"


METHOD_COLOURS = frozenset(
    ("iba", "iba_fc", "rag", "recency", "full_history", "no_history", "profile", "react", "reminder", "oracle")
)

ACTION_WORDS: Mapping[str, str] = {"generate": "texts", "call_api": "calls"}


TIER_WORDS: Mapping[str, str] = {
    "direct": "one event can settle it",
    "combined": "several events together settle it, none alone",
    "contested": "two preferences pull apart; earlier choices show which gave way",
}


def tier_words(tier: str) -> str:
    return TIER_WORDS.get(tier, "")


def leeway(checkpoint: Checkpoint) -> str:
    """How far a typed answer may lie off, in words."""
    unit = " minutes" if checkpoint.answer == "time" else ""
    return f"within {checkpoint.tolerance:g}{unit}"


def action_words(action: str) -> str:
    """The tasks of one kind of action."""
    return ACTION_WORDS.get(action, action.replace("_", " "))


STAGE_WORDS: Mapping[str, str] = {
    "not_retrieved": "not retrieved",
    "no_constraint": "no constraint drawn",
    "resolved_wrongly": "resolved wrongly",
    "not_in_plan": "not in the plan",
    "not_in_action": "not in the action",
    "not_acted": "retrieved, not acted on",
    "judged_wrong": "judged wrong",
    "over_applied": "over-applied",
    "unknown": "unknown",
}


def stage_words(stage: str) -> str:
    return STAGE_WORDS.get(stage, stage.replace("_", " "))


def audit_words(mode: str) -> str:
    """What readers were shown in a mode of the audit."""
    if mode.startswith("retrieved:"):
        return f"request and what {mode.removeprefix('retrieved:')} retrieved"
    return {
        "cue": "readable: one event alone",
        "gold": "solvable: request and gold events",
        "full": "request and the whole history",
        "none": "no history: request alone",
    }.get(mode, mode)


def plain(value: float | None) -> str:
    """A count or a share as short as it goes: 3, 0.759. Four digits: what misses its limit must not read as met."""
    return DASH if value is None else f"{value:.4f}".rstrip("0").rstrip(".")
