"""How the stand-in fills a schema it knows nothing of but its words: enums by score, literals from the request."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from agents.toolkit.arguments import allows_null, options_in
from bench.reader import values, wording
from bench.reader.choosing import pick, pick_item
from bench.reader.reading import Prompt
from bench.reader.scoring import Embed, coverage

Schema = Mapping[str, Any]
UNRESOLVED_WORDS = 0.5  # share of an option's words in an unresolved line that makes the argument depend on it


def fill_object(schema: Schema, prompt: Prompt, embed: Embed) -> dict[str, Any]:
    """A value for every property; an optional one that nothing is known of is left out."""
    required = set(schema.get("required", ()))
    filled: dict[str, Any] = {}
    counts = {"date": 0, "number": 0}
    for name, child in schema.get("properties", {}).items():
        value = fill(name, child, prompt, embed, counts)
        if value is not None or (name in required and allows_null(dict(child))):
            filled[name] = value
        elif name in required:
            filled[name] = _last_resort(child, prompt)
    return filled


def fill(name: str, schema: Schema, prompt: Prompt, embed: Embed, counts: dict[str, int]) -> Any:
    """One value, or None where nothing is known."""
    kind = _kind(schema)
    options = choices(schema)
    if options:
        if allows_null(dict(schema)) and _depends_on_unresolved(options, prompt):
            return None
        return pick(options, _about(name, schema), prompt, embed)
    if name.endswith("_id") or name == "id":
        item = pick_item(prompt, embed)
        return item.get("id") if item else None
    if kind == "object":
        return fill_object(schema, prompt, embed)
    if kind == "array":
        return _array(schema, prompt, embed, counts)
    if kind == "boolean":
        return coverage(name, prompt.request) > 0
    if kind in {"integer", "number"}:
        return _number(kind, prompt, counts)
    return _string(name, schema, prompt, counts)


def _about(name: str, schema: Schema) -> str:
    """What is chosen: the description as far as its list of options."""
    head = str(schema.get("description", "")).split(" = ")[0]
    return head.rpartition(":")[0].strip() or head.rpartition("(")[0].strip() or name.replace("_", " ")


def choices(schema: Schema) -> dict[str, str]:
    """Options of an enum with what the description says of each; empty where it has none."""
    listed = schema.get("enum") or [option.get("const") for option in schema.get("oneOf", []) if "const" in option]
    described = options_in(str(schema.get("description", "")))
    keys = [str(key) for key in listed if key is not None] or list(described)
    return {key: described.get(key, key.replace("_", " ")) for key in keys}


def _depends_on_unresolved(options: Mapping[str, str], prompt: Prompt) -> bool:
    return any(
        coverage(text, line) >= UNRESOLVED_WORDS or coverage(key, line) >= 1.0
        for _, line in prompt.unresolved
        for key, text in options.items()
    )


def _kind(schema: Schema) -> str:
    kind = schema.get("type", "string")
    return next((item for item in kind if item != "null"), "null") if isinstance(kind, list) else str(kind)


def _array(schema: Schema, prompt: Prompt, embed: Embed, counts: dict[str, int]) -> list[Any]:
    value = fill("item", schema.get("items", {}), prompt, embed, counts)
    return [] if value is None else [value]


def _number(kind: str, prompt: Prompt, counts: dict[str, int]) -> float | int | None:
    found = values.number(prompt, counts["number"])
    counts["number"] += 1
    if found is None:
        return None
    return int(found) if kind == "integer" else found


def _string(name: str, schema: Schema, prompt: Prompt, counts: dict[str, int]) -> str | None:
    about = str(schema.get("description", ""))
    if schema.get("format") == "date" or name in {"date", "day"} or name.endswith(("_date", "_day", "_on")):
        found = values.day(prompt, counts["date"])
        counts["date"] += 1
        return found
    if schema.get("format") == "time" or name.endswith("time") or about.lower().startswith("time "):
        return values.clock(prompt)
    known = values.known_value([item[name] for item in prompt.items if name in item], prompt)
    if known is not None:
        return str(known)
    return wording.find(name, about, prompt.request) or values.name(prompt)


def _last_resort(schema: Schema, prompt: Prompt) -> Any:
    """For a required value of which nothing is known."""
    kind = _kind(schema)
    if "default" in schema:
        return schema["default"]
    if kind in {"integer", "number"}:
        return schema.get("minimum", 1)
    if schema.get("format") == "date":
        return prompt.now.date().isoformat()
    return {"object": {}, "array": [], "boolean": False}.get(kind, prompt.request[:80])
