"""What the reader does: look-ups, committing calls, texts."""

from __future__ import annotations

import re
from collections.abc import Sequence

from agents.contract import JSON
from bench.reader import typed
from bench.reader.faults import pick
from bench.reader.knowledge import DAY, Asked, fill, named_day, sentence, wording
from bench.reader.orders import insisted
from bench.reader.view import View

SEARCHES = 4
NUMBERS = ("none", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten")
_READS = re.compile(r"^(?:search|list|find|get|look|show|check|compare|browse|fetch|read)|_(?:details|info|options)$")
_ITEM = re.compile(r"(?:^|_)id$")


def look_ups(view: View) -> list[JSON]:
    """Look-ups in the text protocol: those that need no item while there is none, then no more."""
    if view.prompt.items:
        return []
    again = bool(view.prompt.sections.get("Calls so far"))
    tools = [tool for tool in view.prompt.tools if not _item_argument(tool)]
    return [{"tool": tool["name"], "arguments": {} if again else arguments(view, tool)} for tool in tools]


def next_call(view: View) -> JSON | None:
    """The next native call: searches, look-ups, committing calls; None once all of these have confirmed."""
    prompt = view.prompt
    tools = {tool["name"]: tool for tool in prompt.tools}
    reading = [name for name, tool in tools.items() if not tool.get("commits") and _READS.search(name)]
    done = prompt.answered.count("search_history")
    queries = [view.request, *(sentence_of(view, d) for d in view.dimensions if not view.settled(d))]
    acting = [name for name in tools if name not in reading]
    left = [name for name in acting[-len(commits_of(view)) :] if name not in prompt.confirmed]
    if prompt.confirmed and not left:
        return None
    if "search_history" in tools and done < min(SEARCHES, len(queries)):
        return {"name": "search_history", "arguments": {"query": queries[done]}}
    for name in reading:
        tries = prompt.answered.count(name)
        if name != "search_history" and not _item_argument(tools[name]) and not prompt.items and tries < 2:
            return {"name": name, "arguments": {} if tries else arguments(view, tools[name])}
    return {"name": left[0], "arguments": arguments(view, tools[left[0]])} if left else None


def commits_of(view: View) -> tuple[str, ...]:
    """The committing tools of the request, one where nothing is known of it."""
    tools = view.asked.scenario.tools if view.asked else None
    return tuple(tool.name for tool in tools.commits) if tools else ("",)


def committed(view: View) -> JSON:
    """The arguments of all committing calls that the prompt lists."""
    tools = [tool for tool in view.prompt.tools if tool.get("commits")] or view.prompt.tools[-1:]
    return {name: value for tool in tools for name, value in arguments(view, tool).items()}


def sentence_of(view: View, dimension: str) -> str:
    """A search query about a dimension: what its options look like."""
    return " ".join(sentence(dimension, value) for value in view.offered(dimension))


def arguments(view: View, tool: JSON) -> JSON:
    """Arguments for a call: what the request fixes, the item chosen, and what this person wants."""
    schema = tool.get("parameters", {})
    properties: dict[str, JSON] = schema.get("properties", {})
    required = schema.get("required", [])
    if set(properties) == {"text"}:
        return {"text": write(view)}
    filled = {name: _argument(view, tool["name"], name, field) for name, field in properties.items()}
    return {name: value for name, value in filled.items() if value is not None or name in required}


def _argument(view: View, tool: str, name: str, schema: JSON) -> object:
    if reference := typed.takes(view, tool, name):
        return typed.argument(view, reference)
    known = _known_argument(view, tool, name, schema) if view.asked else None
    if known is not None or (view.asked and _null_wanted(view, tool, name)):
        return known
    if _ITEM.search(name):
        return pick(likely_items(view), view.request, "item") or None
    values = [value for value in schema.get("enum", ()) if value is not None]
    if values:
        named = [value for value in values if str(value).casefold() in f"{view.request} {notes_on(view)}".casefold()]
        if not named and None in schema["enum"] and view.unresolved:
            return None
        return named[0] if named else pick(values, view.request, name)
    return _from_request(view, schema)


def _known_argument(view: View, tool: str, name: str, schema: JSON) -> object:
    """What an argument of the scenario's own tools has to be; None where the scenario says nothing of it."""
    asked = view.asked
    tools = asked.scenario.tools if asked else None
    if asked is None or tools is None:
        return None
    found = next((t for t in (*tools.lookups, *tools.commits) if t.name == tool), None)
    parameter = found.parameters.get(name) if found else None
    if parameter is None:
        return None
    if parameter.dimension and parameter.options:
        if _null_wanted(view, tool, name):
            return None
        return parameter.options[view.chosen(parameter.dimension)]
    if parameter.agrees is not None:
        return view.prompt.items.get(pick(likely_items(view), view.request, "item"), {}).get(parameter.agrees)
    fields = asked.scenario.items.fields if asked.scenario.items else {}
    slot = fields[parameter.field].slot if parameter.field in fields else None
    if parameter.equals is not None:
        return _typed(re.sub(r"\{(\w+)(?::\w+)?\}", lambda m: asked.slots.get(m[1], ""), parameter.equals), schema)
    return asked.slots.get(slot) if slot else None


def _null_wanted(view: View, tool: str, name: str) -> bool:
    """Whether a point that the prompt calls unresolved decides this argument, and nothing else settles it."""
    tools = view.asked.scenario.tools if view.asked else None
    found = next((one for one in tools.commits if one.name == tool), None) if tools else None
    parameter = found.parameters.get(name) if found else None
    dimension = parameter.dimension if parameter else None
    return bool(dimension) and dimension in view.unresolved and not view.settled(str(dimension))


def likely_items(view: View) -> list[str]:
    """Ids of the items that fit what the request fixes, those with the most of what this person wants."""
    items = list(view.prompt.items.values())
    if view.asked is None or view.asked.scenario.items is None:
        words = set(re.findall(r"\w+", " ".join([view.request, *notes_on(view)]).casefold()))
        met = {str(i["id"]): len(words & set(re.findall(r"\w+", str(list(i.values())).casefold()))) for i in items}
    else:
        decided = view.asked.scenario.decided_fields
        wanted = {
            name: [field.options[value] for value in view.likely(field.dimension)]
            for name, field in decided.items()
            if field.dimension and field.options
        }
        fitting = fits(view.asked, items)
        about = {name: field.dimension for name, field in decided.items() if field.dimension}
        settled = {name: options[0] for name, options in wanted.items() if len(options) == 1}
        given_up = settled.keys() - insisted(settled, about, fitting, view.orders).keys()
        met = {
            str(item["id"]): sum(
                any(same(item.get(name), option) for option in options)
                for name, options in wanted.items()
                if name not in given_up
            )
            for item in fitting
        }
    return [key for key, count in met.items() if count == max(met.values())]


def fits(asked: Asked, items: Sequence[JSON]) -> list[JSON]:
    """The items that have what the request fixes; all where none has."""
    fields = asked.scenario.items.fields if asked.scenario.items else {}
    fixed = {name: asked.slots[f.slot] for name, f in fields.items() if f.slot and f.slot in asked.slots}
    found = [item for item in items if all(same(item.get(name), value) for name, value in fixed.items())]
    return found or list(items)


def same(one: object, other: object) -> bool:
    return str(one).casefold() == str(other).casefold()


def _typed(text: str, schema: JSON) -> object:
    kinds = schema.get("type", "string")
    kind = kinds[0] if isinstance(kinds, list) else kinds
    number = re.search(r"-?\d+(?:\.\d+)?", text)
    if kind in ("integer", "number"):
        return None if number is None else int(number[0]) if kind == "integer" else float(number[0])
    return text


def _from_request(view: View, schema: JSON) -> object:
    """What an unknown tool's argument may be: a day, a number or a name that the request holds."""
    text, now = view.request, view.prompt.now
    days = [match[0] for match in DAY.finditer(text)]
    if schema.get("format") == "date":
        return (named_day(days[0], now) if days else now).isoformat()
    if schema.get("type") == "boolean":
        return False
    rest = DAY.sub("", text)
    if schema.get("type") in ("integer", "number"):
        numbers = re.findall(r"\d+(?:\.\d+)?", rest) + [str(n) for n, word in enumerate(NUMBERS) if f" {word} " in rest]
        return _typed((numbers or ["1"])[0], schema)
    names = re.findall(r"(?<=[a-z,] )[A-Z][\w'-]+(?: [A-Z][\w'-]+)*", rest)
    return names[0] if names else text or None


def write(view: View) -> str:
    """The text that the request asks for: what it fixes, then one line for each preference that bears on it."""
    if view.asked is None:
        return "\n".join([*unlabelled(view), view.request, *notes_on(view)])
    scenario = view.asked.scenario
    fixed = [fill(text, view.asked.words) for text in scenario.checkpoints]
    wanted = [option_line(view, d, view.chosen(d)) for d in scenario.dimensions]
    return "\n".join([*unlabelled(view), *fixed, *wanted, *typed.lines(view)])


def option_line(view: View, dimension: str, value: str) -> str:
    """What a value means here in plain words."""
    if view.asked is None:
        return sentence(dimension, value)
    return f"{sentence(dimension, value)} {fill(wording(view.asked.scenario, dimension, value), view.asked.words)}"


def notes_on(view: View) -> list[str]:
    return [sentence(d, value) for d in view.dimensions if (value := view.settled(d))]


def unlabelled(view: View) -> list[str]:
    """What the reader says where it was shown records and knows none of them."""
    shown = len(view.prompt.labelled("Evidence"))
    if not shown or view.history:
        return []
    return [f"Simulated reader: none of the {shown} records has a label, so it understands none of them."]


def _item_argument(tool: JSON) -> bool:
    return any(_ITEM.search(name) for name in tool.get("parameters", {}).get("properties", {}))
