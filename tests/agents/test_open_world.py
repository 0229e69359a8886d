"""Agents know nothing of this benchmark's contents, and the whole line runs where everything is named otherwise."""

from __future__ import annotations

import ast
import json
import re
from collections.abc import Iterator
from datetime import UTC, datetime
from functools import lru_cache
from pathlib import Path

import pytest

import agents
from agents.contract import (
    JSON,
    ActionKind,
    ConstraintStatus,
    Evidence,
    Limits,
    TaskInput,
    Termination,
    ToolResult,
    ToolSpec,
)
from agents.registry import method_names, resolve
from agents.runner import run_agent
from bench.catalogue import load_catalogue
from tests.agents.agent_world import search_over
from tests.agents.player import Player, row

AGENTS = Path(agents.__file__).parent
FIELDS = {"text", "temperature", "length", "detail", "strength"}  # of the wire and of replies, and slugs by chance


@lru_cache
def names_of_the_catalogue() -> frozenset[str]:
    """Every slug, label and name that is authored in bench/data, in lower case."""
    catalogue = load_catalogue()
    found: list[str] = []
    for condition in catalogue.conditions.values():
        found += [condition.slug, condition.name]
    for data in catalogue.domains.values():
        found += [data.domain.slug, data.domain.name]
        for dimension in data.dimensions.values():
            found += [dimension.slug, dimension.name]
            found += [name for value in dimension.values for name in (value.slug, value.label)]
        for state in data.states.values():
            found += [state.slug, state.name]
        for scenario in data.scenarios.values():
            found += [scenario.slug, scenario.name]
            if scenario.tools is not None:
                found += [tool.name for tool in (*scenario.tools.lookups, scenario.tools.commit)]
    return frozenset(name.lower() for name in found)


def of_several_words(name: str) -> bool:
    return bool(re.search(r"[_\s-]", name))


def knows(text: str, constants: frozenset[str] = frozenset()) -> set[str]:
    """Names of the catalogue in a text: those of several words anywhere, those of one word as a whole constant only.

    A single word such as "home" is everybody's; written as a constant it would be a slug.
    """
    lower = text.lower()
    long = {name for name in names_of_the_catalogue() if of_several_words(name)}
    found = {name for name in long if name in lower and re.search(rf"(?<!\w){re.escape(name)}(?!\w)", lower)}
    return found | ((names_of_the_catalogue() - long - FIELDS) & constants)


def sources() -> Iterator[tuple[str, str, frozenset[str]]]:
    """Each file of agents/: its path, its text, and its string constants (of code) or nothing (of prompts)."""
    for path in sorted(AGENTS.rglob("*")):
        if path.suffix not in {".py", ".md"}:
            continue
        text = path.read_text(encoding="utf-8")
        tree = ast.walk(ast.parse(text)) if path.suffix == ".py" else ()
        constants = (node.value for node in tree if isinstance(node, ast.Constant) and isinstance(node.value, str))
        yield path.relative_to(AGENTS).as_posix(), text, frozenset(value.lower() for value in constants)


def test_no_slug_and_no_label_of_the_catalogue_stands_in_code_or_prompts_of_agents() -> None:
    assert len(names_of_the_catalogue()) > 500
    assert {path: found for path, text, constants in sources() if (found := knows(text, constants))} == {}


def test_a_slug_or_a_label_in_a_source_would_be_found() -> None:
    assert knows('if scope == "with_children": ...') == {"with_children"}
    assert knows("Does it hold with the children?") == {"with the children"}
    assert knows("x", frozenset({"aisle", "north by north-west"})) == {"aisle"}
    assert knows("An aisle is a common word.") == set()


# A world of which the catalogue holds nothing: a beekeeper's yard, in Spanish, with conditions of its own.
NOW = datetime(2026, 5, 8, 9, tzinfo=UTC)
DIARY = (
    (2025, 6, 3, "nota", "Colmenas junto al romero; la miel sale clara y la vendo entera."),
    (2025, 7, 19, "mensaje", "Con la abuela siempre abejas mansas, que se sienta a mirar."),
    (2025, 9, 2, "recibo", "Velo y guantes nuevos, 48,00"),
    (2026, 2, 11, "nota", "Sola en el monte: las bravas trabajan el doble y no me importan los picotazos."),
    (2026, 4, 30, "calendario", "Reacción fuerte a un picotazo. El médico: hasta el 20 de mayo solo mansas."),
    (2026, 5, 1, "mensaje", "La furgoneta no pasa la revisión hasta junio"),
)
YARDS = (
    {"id": "col-1", "cepa": "ibérica brava", "precio": 90},
    {"id": "col-2", "cepa": "buckfast mansa", "precio": 130},
)
FIND = ToolSpec("ver_colmenas", "Lista colmenas en venta.", {"type": "object", "properties": {}, "required": []})
RESERVE = ToolSpec(
    "reservar_colmena",
    "Reserva una colmena.",
    {
        "type": "object",
        "properties": {
            "colmena_id": {"type": "string", "description": "Id de ver_colmenas"},
            "cepa": {"type": ["string", "null"], "enum": ["brava", "mansa", None], "description": "Carácter"},
        },
        "required": ["colmena_id", "cepa"],
        "additionalProperties": False,
    },
    commits=True,
)


def keepers_task(request: str) -> TaskInput:
    return TaskInput(
        "t", "colmenar", "Comprar una colmena", request, NOW, ActionKind.CALL_API, (FIND, RESERVE)
    )  # fmt: skip


def yard(name: str, arguments: JSON) -> ToolResult:
    if name == FIND.name:
        return ToolResult(True, {"items": list(YARDS)})
    return ToolResult(True, {"confirmation": "R-1"}, accepted=True)


def keeper() -> Player:
    """A model that reads this diary as a person does, from the lines that stand in its prompt."""

    def label(prompt: str, words: str) -> list[str]:
        return re.findall(rf"^\[(e\d+)\] [^\n]*{words}", prompt, re.MULTILINE)

    def constraints(prompt: str) -> JSON:
        company = {"kind": "conditional", "scope": "con la abuela"}
        until = {"kind": "state", "valid_until": "2026-05-20"}
        trait = row(label(prompt, "las bravas"), about="carácter", value="brava", text="Prefiere bravas.")
        calm = row(label(prompt, "abuela siempre"), about="carácter", value="mansa", text="Mansas con ella.", **company)
        hurt = row(label(prompt, "solo mansas"), about="Carácter", value="mansa", text="Mansas hasta el 20.", **until)
        return {"constraints": [trait, calm, hurt]}

    def when(prompt: str) -> JSON:
        day = re.search(r"2026-\d\d-\d\d para", prompt)
        aspect = {
            "name": "carácter de las abejas",
            "behaviours": ["abejas mansas, picotazo", "abejas bravas, picotazos"],
        }
        return {"when": day[0][:10] if day else "", "aspects": [aspect]}

    def scopes(prompt: str) -> JSON:
        return {"scopes": [{"id": "s1", "holds": "yes" if "con la abuela a" in prompt else "no"}]}

    def arguments(prompt: str) -> JSON:
        wanted = "mansa" if "Mansas" in prompt.rpartition("## Constraints")[2] else "brava"
        found = next(yard["id"] for yard in YARDS if wanted in str(yard["cepa"]))
        return {"arguments": {"colmena_id": found, "cepa": wanted}}

    return Player(aspects=when, constraints=constraints, scopes=scopes, arguments=arguments)


@pytest.mark.parametrize(
    ("request_", "strain", "statuses"),
    [
        ("Una colmena para el monte, ya mismo.", "mansa", ["overridden", "out_of_scope", "active"]),
        ("2026-06-01 para el monte, una colmena.", "brava", ["active", "out_of_scope", "expired"]),
        ("2026-06-01 para ir con la abuela al monte.", "mansa", ["overridden", "active", "expired"]),
    ],
    ids=["the state holds", "the state is over by then", "the condition is met"],
)
def test_the_whole_line_runs_in_a_foreign_world(request_: str, strain: str, statuses: list[str]) -> None:
    events = tuple(
        Evidence(f"ev{number}", datetime(year, month, day, 8, tzinfo=UTC), channel, text)
        for number, (year, month, day, channel, text) in enumerate(DIARY)
    )
    llm = keeper()
    done = run_agent(
        resolve("iba"), keepers_task(request_), llm=llm, search=search_over(events), call_tool=yard, limits=Limits()
    )
    assert (done.termination, done.error) == (Termination.COMPLETED, "")
    assert done.action is not None
    assert done.action.arguments["cepa"] == strain
    by_id = {item.constraint_id: item for item in done.constraints}
    assert [by_id[name].status.value for name in ("c1", "c2", "c3")] == statuses
    assert all(by_id[name].status is ConstraintStatus.ACTIVE for name in done.plan)
    prompts = json.dumps(llm.prompts, ensure_ascii=False)
    assert not {name for name in names_of_the_catalogue() if of_several_words(name) and name in prompts.lower()}


@pytest.mark.parametrize("method", method_names())
def test_every_method_acts_in_a_foreign_world(method: str) -> None:
    events = tuple(Evidence(f"ev{n}", NOW.replace(day=1 + n), "nota", text) for n, (*_, text) in enumerate(DIARY))
    task = keepers_task("Una colmena para el monte.")
    done = run_agent(
        resolve(method), task, llm=Player(), search=search_over(events), call_tool=yard, limits=Limits()
    )  # fmt: skip
    assert (done.termination, done.error) == (Termination.COMPLETED, "")
