"""What the reader answers. The kind of a prompt is known by the reply that is asked for, never by who asks."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from datetime import date, timedelta
from typing import Any

from agents.contract import JSON
from bench.generation.resolve import NOT
from bench.reader import authoring, typed
from bench.reader.acting import arguments, committed, look_ups, next_call, notes_on, unlabelled, write
from bench.reader.faults import Dials
from bench.reader.judging import verdicts
from bench.reader.knowledge import catalogue, dimensions, sentence, understand, wording
from bench.reader.labels import Lookup, meanings
from bench.reader.orders import order_rows
from bench.reader.prompt import Known, read
from bench.reader.view import OUT, View, group_of, note, scope
from bench.reader.words import served, told

STEPS = ["Look up what is on offer.", "Choose what meets every constraint.", "Check it once more and act."]
BEYOND = {
    "Health": [
        "Is ill, hurt or under treatment and was told what to do without.",
        "Is well again, the treatment is over.",
    ],
    "Money": ["Money is short until some day, payments are late.", "Has money to spend, a bonus or a refund came in."],
    "Company": ["Somebody is staying or comes along.", "Is alone these days."],
    "Current plans": ["Something holds for some days or weeks: building work, a visit, a duty.", "That is over now."],
}


def warm() -> None:
    """Everything that every answer needs, read once."""
    understand("", "", date.min)


def answer(body: Mapping[str, Any], dials: Dials, lookup: Lookup = meanings) -> JSON:
    """The assistant message for a chat completion request: ``{"role", "content", "tool_calls"}``."""
    return reply(body, view_of(body, dials, lookup))


def view_of(body: Mapping[str, Any], dials: Dials, lookup: Lookup = meanings) -> View:
    return View(read(body["messages"], list(body.get("tools") or [])), dials, lookup)


def reply(body: Mapping[str, Any], view: View) -> JSON:
    """The message of a reader whose view of the request is this one."""
    tools = list(body.get("tools") or [])
    forced = body.get("tool_choice")
    if isinstance(forced, dict):
        name = forced["function"]["name"]
        tool = next(tool["function"] for tool in tools if tool["function"]["name"] == name)
        return _message(None, _call(name, arguments(view, tool), view))
    schema = (body.get("response_format") or {}).get("json_schema", {}).get("schema")
    if schema is not None:
        return _message(json.dumps(_object(schema, view, str(body.get("model", ""))), ensure_ascii=False))
    if tools and forced != "none":
        following = next_call(view)
        return (
            _message(None, _call(following["name"], following["arguments"], view)) if following else _message("Done.")
        )
    return _message(_text(view))


def _message(content: str | None, *calls: JSON) -> JSON:
    return {"role": "assistant", "content": content, "tool_calls": list(calls)}


def _call(name: str, filled: JSON, view: View) -> JSON:
    function = {"name": name, "arguments": json.dumps(filled, ensure_ascii=False)}
    return {"id": f"call_{len(view.prompt.answered)}", "type": "function", "function": function}


def _object(schema: JSON, view: View, model: str) -> JSON:
    """An object for the schema, by the names of its properties. One that nobody knows is filled like a tool's."""
    fields: JSON = schema.get("properties", {})
    known: dict[str, Callable[[], object]] = {
        "when": lambda: view.asked.day.isoformat() if view.asked and "day" in view.asked.slots else "",
        "aspects": lambda: _aspects(view),
        "queries": lambda: [dimensions()[d].question for d in view.dimensions if not view.settled(d)],
        "constraints": lambda: _planned(view) if "steps" in fields else _constraints(view, _row(fields["constraints"])),
        "points": lambda: _points(view),
        "steps": lambda: STEPS,
        "scopes": lambda: _scopes(view),
        "calls": lambda: look_ups(view),
        "checks": lambda: _checks(view),
        "verdicts": lambda: verdicts(view.prompt, model, view.dials),
        "arguments": lambda: committed(view),
        "storylines": lambda: authoring.storylines(view),
        "written": lambda: authoring.written(view),
        "answer": lambda: "Noted.",
        "shows": lambda: authoring.shows(view),
        "answers": lambda: authoring.NONE,
        "same": lambda: authoring.same(view),
        "outright": lambda: "no",
        "contradicts": lambda: "",
    }
    if fields and fields.keys() <= known.keys():
        return {name: _fitting(known[name](), fields[name]) for name in fields}
    return arguments(view, {"name": "", "parameters": schema})


def _row(field: JSON) -> frozenset[str]:
    return frozenset(field.get("items", {}).get("properties", {}))


def _fitting(value: object, field: JSON) -> object:
    """No more entries of a list than the schema allows."""
    return value[: field.get("maxItems")] if isinstance(value, list) else value


def _aspects(view: View) -> list[JSON]:
    own = [
        {"name": dimensions()[d].name, "behaviours": [" ".join(v.description.split()) for v in dimensions()[d].values]}
        for d in view.dimensions
    ]
    return own + typed.aspects(view) + [{"name": name, "behaviours": behaviours} for name, behaviours in BEYOND.items()]


def _constraints(view: View, fields: frozenset[str]) -> list[JSON]:
    """What the evidence shows, one constraint for each value, side of a condition and state, with its dates.

    Where it only rules values out, and more than one is left, one against each of them.
    """
    if fields == {"text", "evidence"}:
        return _points(view)
    given = {
        (*option, text.startswith(OUT))
        for _, text in view.prompt.labelled("Constraints")
        for option in told(text, view.dimensions)
    }
    rows: list[JSON] = []
    for dimension in view.dimensions:
        groups: dict[tuple[str, str], list[Known]] = {}
        for value, known in view.speaking(dimension):
            groups.setdefault((value, known.shown.group), []).append(known)
        last = max((found[-1].shown.on for (_, group), found in groups.items() if "." not in group), default=None)
        for (value, group), found in groups.items():
            until = _last_day(found, last) if "." in group else None
            outdated = not group and last is not None and found[-1].shown.on < last
            if (dimension, value, False) not in given:
                rows.append(_constraint(dimension, value, group, found, last if outdated else until))
        rows += [
            _against(dimension, value, found)
            for value, found in view.excluded(dimension).items()
            if (dimension, value, True) not in given
        ]
    rows += [*order_rows(view), *typed.rows(view)]
    return [{name: value for name, value in row.items() if name in fields} for row in rows]


def _last_day(found: list[Known], _: date | None) -> date:
    """The last day of a state: as a text names it, the day before it was over, or as long as it may last."""
    named = [known.shown.until for known in found if known.shown.until]
    over = [known.shown.on - timedelta(days=1) for known in found if known.shown.role == "state_end"]
    domain, slug = found[0].shown.group.split(".")
    return (named or over or [found[0].shown.on + timedelta(days=catalogue().domains[domain].states[slug].days[1])])[-1]


def _constraint(dimension: str, value: str, group: str, found: list[Known], until: date | None) -> JSON:
    state = "." in group
    option = dimensions()[dimension].value(value)
    return {
        "about": dimensions()[dimension].name,
        "value": option.label,
        "dimension": dimension,
        "text": sentence(dimension, value),
        "polarity": "for",
        "kind": "state" if state else "conditional" if group else "trait",
        "scope": "" if state else scope(group),
        "valid_from": found[0].shown.on.isoformat(),
        "valid_until": until.isoformat() if until else "",
        "strength": 0.9,
        "evidence": [known.label for known in found if known.label][:4],
        "counter": next((v.description for v in dimensions()[dimension].values if v.slug != value), ""),
    }


def _against(dimension: str, value: str, found: list[Known]) -> JSON:
    row = _constraint(dimension, value, "", found, None)
    text, counter = f"{OUT}{row['text']}", dimensions()[dimension].value(value).description
    return {**row, "polarity": "against", "text": text, "counter": counter}


def _points(view: View) -> list[JSON]:
    """What this person would want here, resolved for the request, or would not have."""
    rows: list[JSON] = []
    for d in view.dimensions:
        value = view.settled(d)
        said = [(sentence(d, value), view.evidence(d))] if value else []
        said = said or [(f"{OUT}{sentence(d, out)}", found) for out, found in view.excluded(d).items()]
        rows += [{"text": text, "evidence": [k.label for k in found if k.label][:4]} for text, found in said]
    return rows + typed.points(view)


def _planned(view: View) -> list[str]:
    """Ids of the constraints that bear on the request; those that nobody can place come last."""
    placed = {label: told(text, tuple(dimensions())) for label, text in view.prompt.labelled("Constraints")}
    bearing = [label for label, found in placed.items() if any(d in view.dimensions for d, _ in found)]
    return bearing + [label for label, found in placed.items() if not found]


def _scopes(view: View) -> list[JSON]:
    """Whether a condition holds for the request, as far as the request says so."""
    rows = []
    for label, text in view.prompt.labelled("Scopes"):
        group = group_of(text)
        holds = view.asked is not None and view.asked.context == group.removeprefix(NOT)
        known = "yes" if holds != group.startswith(NOT) else "no"
        rows.append({"id": label, "holds": known if group and view.asked else "unknown"})
    return rows


def _checks(view: View) -> list[JSON]:
    """Whether the draft serves what each check asks for."""
    draft = view.prompt.sections.get("Draft", "")
    rows = []
    for label, text in view.prompt.labelled("Checks"):
        if row := typed.check(view, label, text):
            rows.append(row)
            continue
        found = [option for option in told(text, tuple(dimensions())) if option[0] in view.dimensions]
        met, where = "not_applicable", ""
        for dimension, value in found[:1]:
            serves = _serves(view, draft, dimension)
            met = "yes" if (value not in serves if text.startswith(OUT) else serves == {value}) else "no"
            where = _where(view, dimension)
        rows.append({"id": label, "met": met, "where": where})
    return rows


def _serves(view: View, draft: str, dimension: str) -> set[str]:
    """The options of a dimension that a draft serves: of a call those whose wording stands in it."""
    if view.asked and view.asked.scenario.action == "call_api":
        said = {value: wording(view.asked.scenario, dimension, value) for value in view.offered(dimension)}
        return {value for value, text in said.items() if text.casefold() in draft.casefold()}
    scenario, words = (view.asked.scenario, view.asked.words) if view.asked else (None, {})
    return served(draft, dimension, scenario, words)


def _where(view: View, dimension: str) -> str:
    """The argument that a dimension decides, "" where it is none of the call's."""
    scenario = view.asked.scenario if view.asked else None
    named = [name for name, p in scenario.decided_parameters.items() if p.dimension == dimension] if scenario else []
    return named[0] if named else ""


def _text(view: View) -> str:
    """Notes where the prompt asks for notes or makes no request; else the text itself."""
    wanted = view.prompt.sections.get("Answer", "")
    if wanted.startswith("Notes") or ("Request" not in view.prompt.sections and view.asked is None):
        latest = {note(known.shown).rpartition(" [")[0]: note(known.shown) for known in view.known}
        lines = [line for line in latest.values() if line] + typed.notes(view)
        return "\n".join(unlabelled(view) + lines) or "I can help with that once I know the request and the evidence."
    if view.asked and view.asked.scenario.action == "call_api":
        return "\n".join([*unlabelled(view), *notes_on(view)]) or "Nothing in the evidence settles this."
    return write(view)
