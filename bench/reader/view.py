"""What the reader makes of one prompt: the request, the history in it, the constraints given; and what it decides."""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from datetime import date
from functools import cached_property

from bench.generation.resolve import NOT, Shown, choose, life_shown
from bench.reader.faults import Dials, draw, pick
from bench.reader.knowledge import Asked, catalogue, dimensions, sentence, understand
from bench.reader.labels import Lookup
from bench.reader.orders import Pair, heard, orders_in, said
from bench.reader.prompt import Known, Prompt
from bench.reader.words import told

OUT = "Ruled out: "  # before what a text says is not this person's, where the reader writes it down
_NOTE = re.compile(r"^(.*) \[(\d{4}-\d{2}-\d{2})(?: to (\d{4}-\d{2}-\d{2}))?(?:, (.+))?\]$")


@dataclass
class View:
    """One prompt, read by a reader of these dials."""

    prompt: Prompt
    dials: Dials
    lookup: Lookup

    @cached_property
    def asked(self) -> Asked | None:
        name = self.prompt.sections.get("Scenario", "").split(" (domain:")[0]
        request = self.prompt.sections.get("Request", "")
        for line in [request] if request else self.prompt.lines:
            if found := understand(line, name, self.prompt.now):
                return found
        return None

    @property
    def request(self) -> str:
        """What random choices hang on, so that the same request gets the same."""
        return self.prompt.sections.get("Request") or (
            f"{self.asked.reference} {sorted(self.asked.slots.items())}" if self.asked else ""
        )

    @cached_property
    def history(self) -> list[Known]:
        """The lines of the prompt that stand in a generated history, each once, as their labels say."""
        known = self.lookup({text for line in self.prompt.seen for text in line.texts})
        found: dict[tuple[str, date], Known] = {}
        for line in self.prompt.seen:
            on = line.on or self.prompt.now
            for text in filter(known.__contains__, line.texts):
                meaning = known[text]
                shown = Shown(on, meaning.role, meaning.dimension, meaning.value, meaning.group, meaning.ends.get(on))
                found.setdefault((text, on), Known(line.label, text, shown))
        return list(found.values())

    @cached_property
    def known(self) -> list[Known]:
        """The texts of the prompt that are understood, some of them wrongly."""
        read = ((known, self._understood(known)) for known in self.history if known.shown.role != "regular")
        return [replace(known, shown=shown) for known, shown in read if shown is not None]

    def _understood(self, known: Known) -> Shown | None:
        """As the label says; the rest is read as another value or, half of it, as nothing."""
        shown = known.shown
        if draw("understands", known.text) < self.dials.understands:
            return shown
        if not shown.dimension or draw("as nothing", known.text) < 0.5:
            return None
        if shown.role == "record":
            return replace(shown, dimension=shown.group, group=shown.dimension)
        others = [value.slug for value in dimensions()[shown.dimension].values if value.slug != shown.value]
        role = "cue" if shown.role == "distractor" else shown.role
        value = shown.value if shown.role == "distractor" else pick(others, "misread", known.text)
        return replace(shown, role=role, value=value)

    @cached_property
    def shown(self) -> list[Shown]:
        """What the history, a profile and the constraints that rule a value out show."""
        notes = [note for line in self.prompt.sections.get("Profile", "").splitlines() if (note := noted(line))]
        out = [
            Shown(self.prompt.now, "against", dimension, value, "")
            for _, text in self.prompt.labelled("Constraints")
            if text.startswith(OUT)
            for dimension, value in told(text, self.dimensions)
        ]
        return [known.shown for known in self.known] + notes + out

    @cached_property
    def orders(self) -> frozenset[Pair]:
        """Which preference goes before which other one, by records, and by what prompt and profile say."""
        said = [text for title in ("Constraints", "Checks") for _, text in self.prompt.labelled(title)]
        return orders_in(self.shown, said)

    @cached_property
    def given(self) -> dict[str, list[str]]:
        """Dimension -> values that the prompt's constraints ask for."""
        found: dict[str, list[str]] = {}
        for _, text in self.prompt.labelled("Constraints"):
            for dimension, value in () if text.startswith(OUT) else told(text, self.dimensions):
                found.setdefault(dimension, []).append(value)
        return found

    @cached_property
    def unresolved(self) -> frozenset[str]:
        """Dimensions that the prompt calls open."""
        texts = [text for _, text in self.prompt.labelled("Unresolved")]
        return frozenset(dimension for text in texts for dimension, _ in told(text, self.dimensions))

    @cached_property
    def dimensions(self) -> tuple[str, ...]:
        """What bears on the request: of a request that nobody knows, what history and constraints are about."""
        if self.asked:
            return self.asked.scenario.dimensions
        touched = [known.shown.dimension for known in self.known if known.shown.role != "distractor"]
        touched += [d for known in self.known for d in effects(known.shown.group)]
        for title in ("Constraints", "Unresolved", "Checks"):
            for _, text in self.prompt.labelled(title):
                touched += [dimension for dimension, _ in told(text, tuple(dimensions()))]
        return tuple(dict.fromkeys(filter(None, touched)))

    def settled(self, dimension: str) -> str:
        """The value that the prompt settles, "" for none. A constraint decides; rivals are decided by the history."""
        given = self.given.get(dimension, [])
        if len(set(given)) == 1:
            return given[0]
        own = self._resolved(dimension)
        return own if own and (not given or own in given) else given[-1] if given else ""

    def _resolved(self, dimension: str) -> str:
        trait, states = life_shown(self.shown, dimension, catalogue())
        now = self.prompt.now
        day, context = (self.asked.day, self.asked.context) if self.asked else (now, "")
        choice = choose(trait, states, dimension, today=now, day=day, context=context)
        return choice.value if choice else ""

    def offered(self, dimension: str) -> list[str]:
        """The values that the request can be served with, in the catalogue's order; all where nobody knows it."""
        values = [value.slug for value in dimensions()[dimension].values]
        allowed = self.asked.scenario.options(dimension) if self.asked else values
        return [value for value in values if value in allowed]

    def kept(self, dimension: str) -> str:
        """The settled value, where it reaches the action and is on offer, "" else."""
        value = self.settled(dimension)
        return value if self._keeps(dimension) and value in self.offered(dimension) else ""

    def _keeps(self, dimension: str) -> bool:
        return draw("keeps", self.request, dimension) < self.dials.keeps

    def likely(self, dimension: str) -> list[str]:
        """The values among which the action's is drawn: the one that is settled, else all that are not ruled out."""
        kept, offered = self.kept(dimension), self.offered(dimension)
        if kept or not self._keeps(dimension):
            return [kept] if kept else offered
        out = {shown.value for shown in self.shown if shown.role == "against" and shown.dimension == dimension}
        return [value for value in offered if value not in out] or offered

    def chosen(self, dimension: str) -> str:
        """The value that the action serves."""
        return pick(self.likely(dimension), self.request, dimension)

    def evidence(self, dimension: str) -> list[Known]:
        """Lines that bear on a dimension, the earliest first."""
        return sorted((k for k in self.known if bears(k.shown, dimension)), key=lambda known: known.shown.on)

    def speaking(self, dimension: str) -> list[tuple[str, Known]]:
        """The lines with the value that each speaks for; those that rule values out, for the one that they leave."""
        found = self.evidence(dimension)
        out = {known.shown.value for known in found if known.shown.role == "against"}
        left = [value.slug for value in dimensions()[dimension].values if value.slug not in out]
        rows: list[tuple[str, Known]] = []
        for known in found:
            if known.shown.role != "against":
                rows.append((known.shown.value or effects(known.shown.group)[dimension], known))
            elif len(left) == 1:
                rows.append((left[0], known))
        return rows

    def excluded(self, dimension: str) -> dict[str, list[Known]]:
        """Value -> the lines that rule it out, where they leave more than one and none speaks for any."""
        found: dict[str, list[Known]] = {}
        for known in self.evidence(dimension):
            if known.shown.role == "against":
                found.setdefault(known.shown.value, []).append(known)
        bound = any(known.shown.role in ("cue", "drift", "condition") for known in self.evidence(dimension))
        return {} if bound or len(found) >= len(dimensions()[dimension].values) - 1 else found


def bears(shown: Shown, dimension: str) -> bool:
    if shown.role in ("cue", "drift", "condition", "against"):
        return shown.dimension == dimension
    return shown.role.startswith("state_") and dimension in effects(shown.group)


def effects(group: str) -> dict[str, str]:
    """Dimension -> value that a state ("<domain>.<slug>") asks for; nothing for any other group."""
    domain, _, slug = group.partition(".")
    state = catalogue().domains[domain].states.get(slug) if domain in catalogue().domains else None
    return {effect.dimension: effect.value for effect in state.effects} if state else {}


def scope(group: str) -> str:
    """The side of a condition in words that ``group_of`` reads back: "with the children", "not with the children"."""
    condition = catalogue().conditions.get(group.removeprefix(NOT))
    return (NOT if group.startswith(NOT) else "") + condition.name.lower() if condition else ""


def group_of(words: str) -> str:
    """The side of a condition that a scope names, "" for none."""
    bare = words.strip().lower().removeprefix(NOT)
    found = next((c.slug for c in catalogue().conditions.values() if bare and c.name.lower() in bare), "")
    return (NOT if words.strip().lower().startswith(NOT) else "") + found if found else ""


def note(shown: Shown) -> str:
    """A line of notes or of a profile, which ``noted`` reads back; "" for what shows nothing."""
    until = f" to {shown.until}" if shown.until else ""
    if shown.role == "record":
        return f"{said((shown.dimension, shown.group))} [{shown.on}]"
    if shown.role == "against":
        return f"{OUT}{sentence(shown.dimension, shown.value)} [{shown.on}]"
    if shown.role in ("cue", "drift", "condition"):
        side = f", {scope(shown.group)}" if shown.group else ""
        return f"{sentence(shown.dimension, shown.value)} [{shown.on}{side}]"
    if shown.role.startswith("state_"):
        domain, slug = shown.group.split(".")
        return f"{catalogue().domains[domain].states[slug].name} [{shown.on}{until}, {shown.role[6:]}]"
    return ""


def noted(line: str) -> Shown | None:
    match = _NOTE.match(line.strip().lstrip(">").strip().removeprefix("- "))
    if match is None:
        return None
    on, until, rest = date.fromisoformat(match[2]), match[3], match[4] or ""
    for domain, data in catalogue().domains.items():
        for state in data.states.values():
            if state.name == match[1]:
                end = date.fromisoformat(until) if until else None
                return Shown(on, f"state_{rest}", "", "", f"{domain}.{state.slug}", end)
    if pair := heard(match[1]):
        return Shown(on, "record", pair[0], "", pair[1])
    found = told(match[1].removeprefix(OUT), tuple(dimensions()))
    role = "against" if match[1].startswith(OUT) else "condition" if rest else "cue"
    return Shown(on, role, *found[0], group_of(rest)) if len(found) == 1 else None
