"""What a call_api task acts on: tools as agents see them, and the generated items behind the look-ups."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import date, timedelta
from itertools import product
from random import Random
from typing import Any

from bench.catalogue import Scenario
from bench.catalogue.regularities import WEEKDAYS
from bench.catalogue.scenario import ItemField, Lookup, Parameter
from bench.catalogue.texts import SLOT
from bench.generation.spec import Order

ITEMS = 12  # at least, where hardly any field is decided
MOST = 12  # with two of another request still one page of a look-up


def tool_specs(scenario: Scenario) -> tuple[dict[str, Any], ...]:
    """Specifications in the shape of agents.contract.ToolSpec.

    Options stand as the service words them, never under the catalogue's slugs; which preference decides is left out.
    """
    if scenario.tools is None:
        return ()
    lookups = [_spec(lookup, commits=False) for lookup in scenario.tools.lookups]
    typed = frozenset(one.parameter for one in scenario.regularities.values() if one.parameter)
    return (*lookups, *(_spec(tool, commits=True, typed=typed) for tool in scenario.tools.commits))


def _spec(tool: Lookup, *, commits: bool, typed: frozenset[str] = frozenset()) -> dict[str, Any]:
    """``typed``: parameters that take what a regularity says."""
    properties = {
        name: _typed(parameter) if name in typed else _property(parameter)
        for name, parameter in tool.parameters.items()
    }
    required = [name for name, parameter in tool.parameters.items() if commits and not parameter.optional]
    return {
        "name": tool.name,
        "description": tool.description,
        "commits": commits,
        "parameters": {
            "type": "object",
            "properties": properties,
            "required": required,
            "additionalProperties": False,
        },
    }


def _property(parameter: Parameter) -> dict[str, Any]:
    if parameter.options:
        # By the alphabet, as authors put first what comes to mind first, and states and changes lead there more often.
        # Null stands for "I would have to ask": it is allowed, and it never satisfies a checkpoint.
        return {
            "type": ["string", "null"],
            "enum": [*sorted(parameter.options.values()), None],
            "description": parameter.description,
        }
    schema: dict[str, Any] = {"type": parameter.type, "description": parameter.description}
    if parameter.format:
        schema["format"] = parameter.format
    if parameter.enum:
        schema["enum"] = list(parameter.enum)
    return schema


def _typed(parameter: Parameter) -> dict[str, Any]:
    """A natural type, from which nothing follows; null as in ``_property``."""
    schema: dict[str, Any] = {"type": [parameter.type, "null"], "description": parameter.description}
    if parameter.format:
        return {**schema, "format": parameter.format}
    return {**schema, "enum": [*WEEKDAYS, None]} if parameter.type == "string" else schema


def build_world(
    scenario: Scenario, slots: dict[str, Any], wanted: dict[str, str], rng: Random, contested: Sequence[Order] = ()
) -> dict[str, Any]:
    """Items in which nothing but the history tells the right one.

    The decided fields are crossed: each combination of options stands once, so no option, no combination and no
    neighbourhood is more frequent than another. Everything else is drawn for each item alike. Where two preferences
    are contested, no item has both options, and each option of the two is as frequent as every other.
    """
    if scenario.items is None or scenario.tools is None:
        return {}
    fields = scenario.items.fields
    others = {name: _other(scenario.slots[f.slot], slots[f.slot], rng) for name, f in fields.items() if f.slot}
    decided = {name: field for name, field in fields.items() if field.dimension in wanted}
    items = [{**_item(fields, slots, rng), **row} for row in _crossed(decided, wanted, contested, rng)]
    items += [_item(fields, slots, rng) for _ in range(ITEMS - 2 - len(items))] if len(decided) < 2 else []
    # The last two answer another request: another town, another day.
    items += [{**_item(fields, slots, rng), **others} for _ in range(2)]
    rng.shuffle(items)
    noun = scenario.items.noun.split()[0].upper()[:3]
    numbers = rng.sample(range(100, 1000), len(items))
    listed = [
        {"id": f"{noun}-{number}", "title": _title(rng.choice(scenario.items.title), item), **item}
        for number, item in zip(numbers, items, strict=True)
    ]
    filters = {
        lookup.name: {name: p.field for name, p in lookup.parameters.items() if p.field}
        for lookup in scenario.tools.lookups
    }
    return {"items": listed, "filters": filters, "item_argument": scenario.tools.item_argument}


def _item(fields: dict[str, ItemField], slots: dict[str, Any], rng: Random) -> dict[str, Any]:
    return {name: _field(field, slots, rng) for name, field in fields.items()}


def _field(field: ItemField, slots: dict[str, Any], rng: Random) -> Any:
    if field.slot:
        return _plain(slots[field.slot])
    if field.range:
        low, high = field.range
        return rng.randint(int(low), int(high)) if float(low).is_integer() else round(rng.uniform(low, high), 2)
    choices = list(field.options.values()) if field.options else list(field.choices or ())
    return rng.choice(choices)


def _plain(value: Any) -> Any:
    """A slot's value as JSON: dates in ISO form."""
    return value if isinstance(value, str | int | float | bool) else format(value, "iso")


def _other(choices: Any, used: Any, rng: Random) -> Any:
    """A value of the same slot that was not asked for."""
    if choices == "date":
        return (date.fromisoformat(_plain(used)) + timedelta(days=1)).isoformat()
    rest = [choice for choice in choices if choice != used]
    return rng.choice(rest) if rest else used


def _crossed(
    decided: dict[str, ItemField], wanted: dict[str, str], contested: Sequence[Order], rng: Random
) -> list[dict[str, str]]:
    """Every combination of options, or of those as regular a part as has the wanted one and at most MOST.

    The part: of fields with equally many options the places of the options have a fixed sum, and if that is not enough
    a fixed weighted sum. So each option stays as frequent as every other, beside each item as in all of them.
    Of two contested fields that sum is another than the wanted options have, so that they never meet.
    """
    names = list(decided)
    options = {name: list((field.options or {}).values()) for name, field in decided.items()}
    target = {name: (field.options or {})[wanted[field.dimension or ""]] for name, field in decided.items()}
    rows = [dict(zip(names, row, strict=True)) for row in product(*options.values())]
    pairs = [[name for name, field in decided.items() if field.dimension in order.pair] for order in contested]
    for pair in pairs:
        both, count = _sum(target, pair, options, 0), len(options[pair[0]])
        sums = range(1, count) if names == pair else (rng.randrange(1, count),)
        rows = [row for row in rows if (_sum(row, pair, options, 0) - both) % count in sums]
    for power in (0, 1):
        for size in sorted({len(texts) for texts in options.values()}):
            alike = [name for name in names if len(options[name]) == size and not any(name in pair for pair in pairs)]
            if len(rows) > MOST and len(alike) > power + 1:
                kept = _sum(target, alike, options, power)
                rows = [row for row in rows if _sum(row, alike, options, power) == kept]
    return rows


def _sum(row: dict[str, str], alike: list[str], options: dict[str, list[str]], power: int) -> int:
    return sum((n if power else 1) * options[name].index(row[name]) for n, name in enumerate(alike)) % len(
        options[alike[0]]
    )


def _title(template: str, item: dict[str, Any]) -> str:
    return SLOT.sub(lambda m: str(item.get(m[1], m[0])), template)
