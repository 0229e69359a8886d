"""Deterministic rules for CallAPI checkpoints.

A rule is JSON, one of::

    {"argument": name, "equals": value}      an argument of the committing call
    {"argument": name, "in": [value, ...]}
    {"argument": name, "like_field": field, "item_argument": "train_id"}   as the item chosen has it
    {"item_field": name, "equals": value, "item_argument": "train_id"}   the item chosen
    {"item_field": name, "in": [...], "item_argument": ...}
    {"committed": tool}                      that the call was made at all

Optional keys of the first five: ``type`` (date, time, integer, number,
string, boolean, list, weekday; else taken from the expected value),
``within`` (how far a time, in minutes, or a number may lie from the value
that it equals), ``unordered``, ``unit``, ``required`` (true unless given), ``default`` (what a missing
argument that is not required means).

Only accepted committing calls reach a rule, so read-only calls can't hurt.
No committing call fails; a second one of the same tool is a fault and fails
too. No two tools of a task have an argument of the same name.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from decimal import Decimal
from functools import partial
from typing import TypedDict

from bench.grading.normalise import MEASURED, TYPES, Ambiguous, Unreadable, close, normalise, normalise_text, same_text
from bench.grading.types import VerdictValue

# A rule as it is stored. ``validate`` says which keys go together.
Rule = TypedDict(
    "Rule",
    {
        "argument": str,
        "item_field": str,
        "item_argument": str,
        "like_field": str,
        "committed": str,
        "equals": object,
        "in": Sequence[object],
        "type": str,
        "within": float,
        "unordered": bool,
        "unit": str,
        "required": bool,
        "default": object,
    },
    total=False,
)


class Call(TypedDict):
    """An accepted committing call."""

    tool: str
    arguments: Mapping[str, object]


World = Mapping[str, Mapping[str, Mapping[str, object]]]  # {"items": {id: fields}}

_SUBJECTS = ("argument", "item_field", "committed")
_KEYS = frozenset(Rule.__annotations__)


@dataclass(frozen=True, slots=True)
class RuleVerdict:
    """CANNOT_JUDGE only where an argument can be read in two ways."""

    value: VerdictValue
    rationale: str


def check(
    rule: Rule,
    *,
    committed: Sequence[Call],
    world: World,
    as_of: datetime,
) -> RuleVerdict:
    """Checks one rule.

    ``committed``: accepted committing calls, ``{"tool", "arguments"}`` each.
    ``world["items"]``: item id -> fields. ``as_of``: the task's aware time,
    whose zone dates are read in. Raises ValueError for a malformed rule,
    which is a fault of the data and never of the agent.
    """
    validate(rule)
    if not committed:
        return RuleVerdict(VerdictValue.FAIL, "no committing call was made")
    tools = [call["tool"] for call in committed]
    if len(set(tools)) < len(tools):
        return RuleVerdict(VerdictValue.FAIL, f"{len(tools)} committing calls were made; one of each tool is right")
    if "committed" in rule:
        wanted = rule["committed"]
        return _verdict(wanted in tools, f"{' and '.join(tools)} was called", f"{wanted} expected")
    arguments = {name: value for call in committed for name, value in call["arguments"].items()}
    if "like_field" in rule:
        return _check_like(rule, arguments, world, as_of)
    if "argument" in rule:
        name = rule["argument"]
        return _compare(rule, f"argument {name}", arguments.get(name), as_of)
    return _check_item(rule, arguments, world, as_of)


def validate(rule: Rule) -> None:
    """Raises ValueError naming what is wrong with a rule; for loaders as well as for ``check``."""
    if sum(key in rule for key in _SUBJECTS) != 1:
        raise ValueError(f"a rule has exactly one of {', '.join(_SUBJECTS)}; got {dict(rule)}")
    if unknown := sorted(set(rule) - _KEYS):
        raise ValueError(f"unknown keys {unknown} in rule {dict(rule)}; allowed are {sorted(_KEYS)}")
    if "committed" in rule:
        return
    if sum(key in rule for key in ("equals", "in", "like_field")) != 1:
        raise ValueError(f"a rule has one of 'equals', 'in' and 'like_field'; got {dict(rule)}")
    if "in" in rule and not (isinstance(rule["in"], list | tuple) and rule["in"]):
        raise ValueError(f"'in' is a non-empty list; got {rule['in']!r}")
    if ("item_field" in rule or "like_field" in rule) and "item_argument" not in rule:
        raise ValueError(f"a rule on an item names the 'item_argument' that chooses it; got {dict(rule)}")
    if "within" in rule and ("equals" not in rule or rule.get("type") not in MEASURED or not rule["within"] >= 0):
        raise ValueError(
            f"'within' is 0 or more and goes with 'equals' and a type of {', '.join(MEASURED)}: {dict(rule)}"
        )
    if rule.get("type", TYPES[0]) not in TYPES:
        raise ValueError(f"unknown type {rule['type']!r} in a rule; there are {', '.join(TYPES)}")


def _check_item(rule: Rule, arguments: Mapping[str, object], world: World, as_of: datetime) -> RuleVerdict:
    fields, fault = _chosen(rule, arguments, world)
    if fields is None:
        return RuleVerdict(VerdictValue.FAIL, fault)
    what = f"{rule['item_field']} of {arguments[rule['item_argument']]}"
    return _compare(rule, what, fields.get(rule["item_field"]), as_of)


def _check_like(rule: Rule, arguments: Mapping[str, object], world: World, as_of: datetime) -> RuleVerdict:
    """An argument that has to agree with the item chosen."""
    fields, fault = _chosen(rule, arguments, world)
    if fields is None:
        return RuleVerdict(VerdictValue.FAIL, fault)
    name, wanted = rule["argument"], fields.get(rule["like_field"])
    if _absent(wanted):
        return RuleVerdict(VerdictValue.FAIL, f"the item chosen has no {rule['like_field']}")
    return _compare({**rule, "equals": wanted}, f"argument {name}", arguments.get(name), as_of)


def _chosen(rule: Rule, arguments: Mapping[str, object], world: World) -> tuple[Mapping[str, object] | None, str]:
    """The item that an argument chooses, or None and why there is none."""
    chosen = arguments.get(rule["item_argument"])
    if _absent(chosen):
        return None, f"argument {rule['item_argument']} chooses no item"
    items = world.get("items", {})
    fields = next((fields for key, fields in items.items() if same_text(key, chosen)), None)
    return fields, "" if fields is not None else f"there is no item {chosen!r}"


def _compare(rule: Rule, what: str, value: object, as_of: datetime) -> RuleVerdict:
    if _absent(value):
        if rule.get("required", True):
            return RuleVerdict(VerdictValue.FAIL, f"{what} is missing")
        if "default" not in rule:
            return RuleVerdict(VerdictValue.PASS, f"{what} is not given and not required")
        value = rule["default"]
    wanted: list[object] = list(rule["in"]) if "in" in rule else [rule["equals"]]
    kind = rule.get("type") or _type_of(wanted[0])
    read = partial(
        normalise, kind=kind, as_of=as_of, unit=rule.get("unit", ""), unordered=bool(rule.get("unordered", False))
    )
    allowed = [read(option) for option in wanted]
    expected = " or ".join(repr(option) for option in wanted)
    try:
        actual = read(value)
    except Ambiguous as error:
        return RuleVerdict(VerdictValue.CANNOT_JUDGE, f"{what}: {error}")
    except Unreadable as error:
        return RuleVerdict(VerdictValue.FAIL, f"{what}: {error}; {expected} expected")
    if "within" in rule:
        within = Decimal(str(rule["within"]))
        right = close(actual, allowed[0], kind, within)
        return _verdict(right, f"{what} is {value!r}", f"{expected} expected, within {within.normalize():f}")
    return _verdict(actual in allowed, f"{what} is {value!r}", f"{expected} expected")


def _absent(value: object) -> bool:
    return value is None or (isinstance(value, str) and not normalise_text(value))


def _type_of(expected: object) -> str:
    if isinstance(expected, bool):
        return "boolean"
    if isinstance(expected, int | float):
        return "number"
    return "list" if isinstance(expected, list | tuple) else "string"


def _verdict(right: bool, fact: str, expectation: str) -> RuleVerdict:
    if right:
        return RuleVerdict(VerdictValue.PASS, fact)
    return RuleVerdict(VerdictValue.FAIL, f"{fact}; {expectation}")
