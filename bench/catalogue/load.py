"""Read bench/data, check it, and return one frozen catalogue."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from dataclasses import dataclass, field
from itertools import combinations, product
from pathlib import Path
from typing import Any, TypeVar

import yaml
from pydantic import BaseModel, ValidationError

from bench.caching import made_once
from bench.catalogue.asking import typed_faults
from bench.catalogue.changes import LifeChange
from bench.catalogue.episodes import Episode
from bench.catalogue.people import Country, Occupation
from bench.catalogue.regularities import Regularity
from bench.catalogue.routines import Routine
from bench.catalogue.scenario import Scenario
from bench.catalogue.schema import (
    ContextCondition,
    Dimension,
    Domain,
    State,
)
from bench.catalogue.texts import Text
from bench.catalogue.words import content_stems, holds_phrase, similarity

DATA = Path(__file__).resolve().parent.parent / "data"
DOMAINS = (
    "travel",
    "dining",
    "healthcare",
    "shopping",
    "planning",
    "entertainment",
    "finance",
    "learning",
    "home",
)
NEAR_COPY = 0.7

Model = TypeVar("Model", bound=BaseModel)


class CatalogueError(ValueError):
    """One or more faults in the authored files; each line names file, id and field."""

    def __init__(self, faults: list[str]) -> None:
        super().__init__("\n".join(faults))
        self.faults = faults


@dataclass(frozen=True)
class DomainData:
    domain: Domain
    dimensions: dict[str, Dimension]
    states: dict[str, State]
    scenarios: dict[str, Scenario]
    everyday: tuple[Text, ...]
    episodes: dict[str, Episode] = field(default_factory=dict)
    regularities: dict[str, Regularity] = field(default_factory=dict)


@dataclass(frozen=True)
class Catalogue:
    """All authored content. ``data_version`` is a hash of every file, so equal content has an equal version."""

    domains: dict[str, DomainData]
    conditions: dict[str, ContextCondition]
    countries: tuple[Country, ...]
    occupations: tuple[Occupation, ...]
    habits: tuple[str, ...]
    everyday: tuple[Text, ...]
    routines: dict[str, Routine] = field(default_factory=dict)
    changes: dict[str, LifeChange] = field(default_factory=dict)
    data_version: str = field(default="")

    def dimension(self, reference: str) -> Dimension:
        """``reference`` is "<domain>.<slug>". Raises KeyError where there is none."""
        domain, slug = reference.split(".", 1)
        return self.domains[domain].dimensions[slug]

    def scenario(self, reference: str) -> Scenario:
        domain, slug = reference.split(".", 1)
        return self.domains[domain].scenarios[slug]

    @property
    def regularities(self) -> dict[str, Regularity]:
        """By reference, "<domain>.<slug>"."""
        return {f"{d}.{slug}": one for d, data in self.domains.items() for slug, one in data.regularities.items()}

    def counts(self) -> dict[str, int]:
        scenarios = [s for data in self.domains.values() for s in data.scenarios.values()]
        return {
            "domains": len(self.domains),
            "scenarios": len(scenarios),
            "dimensions": sum(len(data.dimensions) for data in self.domains.values()),
            "regularities": len(self.regularities),
            "api_scenarios": sum(s.action == "call_api" for s in scenarios),
        }


def load_catalogue(root: Path = DATA, domains: tuple[str, ...] = DOMAINS) -> Catalogue:
    """Load and check. Raises CatalogueError with every fault found, not only the first.

    Files that a process has read before and that are still the same are not read again.
    """
    return _load(root, domains, _data_version(root))


@made_once(2)
def _load(root: Path, domains: tuple[str, ...], data_version: str) -> Catalogue:
    reader = _Reader(root)
    complete = domains == DOMAINS
    conditions = {c.slug: c for c in reader.list_of(ContextCondition, "conditions.yaml")}
    catalogue = Catalogue(
        domains={slug: _load_domain(reader, slug) for slug in domains if (root / slug).is_dir()},
        conditions=conditions,
        countries=reader.list_of(Country, "people/countries.yaml") if complete else (),
        occupations=reader.list_of(Occupation, "people/trades.yaml") if complete else (),
        habits=reader.words("people/habits.yaml") if complete else (),
        everyday=reader.list_of(Text, "everyday.yaml") if complete else (),
        routines=reader.folder(Routine, "people/routines") if complete else {},
        changes=reader.folder(LifeChange, "people/changes") if complete else {},
        data_version=data_version,
    )
    missing = [slug for slug in domains if not (root / slug).is_dir()]
    reader.faults += [f"{root.name}/{slug}: this domain's folder is missing" for slug in missing]
    if not reader.faults:
        reader.faults += _cross_faults(catalogue, complete=complete)
    if reader.faults:
        raise CatalogueError(reader.faults)
    return catalogue


class _Reader:
    """Parses files and collects faults instead of stopping at the first."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self.faults: list[str] = []

    def _parse(self, path: Path) -> Any:
        name = path.relative_to(self.root.parent)
        try:
            return yaml.load(path.read_text(encoding="utf-8"), Loader=yaml.CSafeLoader)
        except FileNotFoundError:
            self.faults.append(f"{name}: file is missing")
        except (yaml.YAMLError, UnicodeDecodeError) as error:
            self.faults.append(f"{name}: not readable as YAML: {' '.join(str(error).split())}")
        return None

    def _build(self, model: type[Model], data: Any, name: str) -> Model | None:
        try:
            return model.model_validate(data)
        except ValidationError as error:
            for fault in error.errors():
                place = ".".join(str(part) for part in fault["loc"]) or "file"
                given = "" if isinstance(fault["input"], dict | list) else f" (found {fault['input']!r})"
                self.faults.append(f"{name}: {place}: {fault['msg'].removeprefix('Value error, ')}{given}")
            return None

    def one(self, model: type[Model], relative: str) -> Model | None:
        path = self.root / relative
        data = self._parse(path)
        return None if data is None else self._build(model, data, f"{self.root.name}/{relative}")

    def list_of(self, model: type[Model], relative: str) -> tuple[Model, ...]:
        data = self._parse(self.root / relative)
        if not isinstance(data, list):
            if data is not None:
                self.faults.append(f"{self.root.name}/{relative}: must be a list")
            return ()
        name = f"{self.root.name}/{relative}"
        built = (self._build(model, entry, f"{name}[{i}]") for i, entry in enumerate(data))
        return tuple(entry for entry in built if entry is not None)

    def words(self, relative: str) -> tuple[str, ...]:
        data = self._parse(self.root / relative)
        if not isinstance(data, list) or not all(isinstance(entry, str) for entry in data):
            self.faults.append(f"{self.root.name}/{relative}: must be a list of texts")
            return ()
        return tuple(data)

    def folder(self, model: type[Model], relative: str) -> dict[str, Model]:
        found: dict[str, Model] = {}
        for path in sorted((self.root / relative).glob("*.yaml")):
            entry = self.one(model, str(path.relative_to(self.root)))
            if entry is None:
                continue
            slug = entry.slug  # type: ignore[attr-defined]
            if slug != path.stem:
                self.faults.append(f"{relative}/{path.name}: slug {slug!r} does not match the file's name")
            found[slug] = entry
        return found


def _load_domain(reader: _Reader, slug: str) -> DomainData:
    domain = reader.one(Domain, f"{slug}/domain.yaml")
    return DomainData(
        domain=domain or Domain(slug=slug, name=slug, summary=slug),
        dimensions=reader.folder(Dimension, f"{slug}/dimensions"),
        states=reader.folder(State, f"{slug}/states"),
        scenarios=reader.folder(Scenario, f"{slug}/scenarios"),
        everyday=reader.list_of(Text, f"{slug}/everyday.yaml"),
        episodes=reader.folder(Episode, f"{slug}/episodes"),
        regularities=reader.folder(Regularity, f"{slug}/regularities"),
    )


def _data_version(root: Path) -> str:
    digest = hashlib.sha256()
    for path in sorted(root.rglob("*.yaml")):
        digest.update(str(path.relative_to(root)).encode() + b"\0" + path.read_bytes() + b"\0")
    return digest.hexdigest()[:12]


def _cross_faults(catalogue: Catalogue, *, complete: bool) -> list[str]:
    faults: list[str] = []
    for slug, data in catalogue.domains.items():
        if len(data.dimensions) < 8:
            faults.append(f"{slug}/dimensions: {len(data.dimensions)} dimensions; at least 8 are needed")
        if len(data.scenarios) < 2:
            faults.append(f"{slug}/scenarios: {len(data.scenarios)} scenarios; at least 2 are needed")
        for dimension in data.dimensions.values():
            faults += _cue_faults(f"{slug}/dimensions/{dimension.slug}.yaml", dimension, catalogue)
        for state in data.states.values():
            faults += _state_faults(f"{slug}/states/{state.slug}.yaml", state, catalogue, complete)
        for scenario in data.scenarios.values():
            faults += _scenario_faults(f"{slug}/scenarios/{scenario.slug}.yaml", scenario, catalogue, complete)
        faults += typed_faults(slug, catalogue.domains)
        faults += _condition_faults(slug, data)
    faults += _routine_faults(catalogue)
    faults += _repeated_texts(catalogue)
    return faults


def _routine_faults(catalogue: Catalogue) -> Iterator[str]:
    known = {country.slug for country in catalogue.countries}
    for routine in catalogue.routines.values():
        for slug in sorted({*routine.countries} - known):
            allowed = ", ".join(sorted(known))
            yield f"people/routines/{routine.slug}.yaml: countries: unknown country {slug!r}; allowed: {allowed}"


def _cue_faults(name: str, dimension: Dimension, catalogue: Catalogue) -> Iterator[str]:
    own = content_stems(f"{dimension.slug.replace('_', ' ')} {dimension.name}")
    for value in dimension.values:
        forbidden = own | content_stems(f"{value.slug.replace('_', ' ')} {value.label}")
        cues = [*value.cues, *value.against, *_condition_cues(dimension, value.slug)]
        for cue in cues:
            shared = forbidden & content_stems(cue.text)
            if shared:
                yield f"{name}: {value.slug}: cue gives {', '.join(sorted(shared))!r} away: {cue.text!r}"
        for first, second in combinations(cues, 2):
            if similarity(first.text, second.text) >= NEAR_COPY:
                yield f"{name}: {value.slug}: near copies: {first.text!r} and {second.text!r}"
        for text, other in product(value.against, dimension.values):
            if other is not value and holds_phrase(text.text, other.label):
                yield f"{name}: {value.slug}: a text against it names {other.slug!r}, which stays open: {text.text!r}"
    for condition in dimension.conditions:
        if condition.when not in catalogue.conditions:
            allowed = ", ".join(catalogue.conditions)
            yield f"{name}: conditions: unknown condition {condition.when!r}; allowed: {allowed}"


def _condition_cues(dimension: Dimension, value: str) -> Iterator[Text]:
    for condition in dimension.conditions:
        if condition.value == value:
            yield from condition.cues.when
        if condition.otherwise == value:
            yield from condition.cues.otherwise


def _known(catalogue: Catalogue, reference: str, complete: bool) -> Dimension | str | None:
    """The dimension, None where its domain is not loaded, or what is wrong."""
    domain, slug = reference.split(".", 1)
    if domain not in catalogue.domains:
        return f"unknown domain {domain!r}" if complete or domain not in DOMAINS else None
    found = catalogue.domains[domain].dimensions.get(slug)
    allowed = ", ".join(catalogue.domains[domain].dimensions)
    return found or f"unknown dimension {reference!r}; {domain} has: {allowed}"


def _state_faults(name: str, state: State, catalogue: Catalogue, complete: bool) -> Iterator[str]:
    for effect in state.effects:
        found = _known(catalogue, effect.dimension, complete)
        if isinstance(found, str):
            yield f"{name}: effects: {found}"
        elif found is not None:
            yield from _value_fault(name, found, effect.value)
            yield from _state_cue_faults(name, state, found, effect.value)


def _value_fault(name: str, dimension: Dimension, value: str) -> Iterator[str]:
    allowed = [v.slug for v in dimension.values]
    if value not in allowed:
        yield f"{name}: {dimension.slug} has no value {value!r}; allowed: {', '.join(allowed)}"


def _state_cue_faults(name: str, state: State, dimension: Dimension, slug: str) -> Iterator[str]:
    value = next((v for v in dimension.values if v.slug == slug), None)
    forbidden = content_stems(f"{value.slug.replace('_', ' ')} {value.label}") if value else frozenset()
    for cue in [*state.cues.start, *state.cues.course, *state.cues.end]:
        shared = forbidden & content_stems(cue.text)
        if shared:
            yield f"{name}: cue gives {', '.join(sorted(shared))!r} of {dimension.slug} away: {cue.text!r}"


def _scenario_faults(name: str, scenario: Scenario, catalogue: Catalogue, complete: bool) -> Iterator[str]:
    for reference in scenario.dimensions:
        found = _known(catalogue, reference, complete)
        if isinstance(found, str):
            yield f"{name}: {found}"
        elif found is not None:
            for value in scenario.options(reference):
                yield from _value_fault(name, found, value)
    for request in scenario.requests:
        if request.context and request.context not in catalogue.conditions:
            yield f"{name}: request has context {request.context!r}; allowed: {', '.join(catalogue.conditions)}"
    if not any(request.context is None for request in scenario.requests):
        yield f"{name}: no request is without a context"


def _condition_faults(slug: str, data: DomainData) -> Iterator[str]:
    for dimension in data.dimensions.values():
        reference = f"{slug}.{dimension.slug}"
        for condition in dimension.conditions:
            asked = any(
                request.context == condition.when
                for scenario in data.scenarios.values()
                if reference in scenario.dimensions
                for request in scenario.requests
            )
            if not asked:
                yield f"{slug}/dimensions/{dimension.slug}.yaml: no scenario asks {reference} {condition.when}"


def _repeated_texts(catalogue: Catalogue) -> Iterator[str]:
    seen: dict[str, str] = {}
    for place, text in all_texts(catalogue):
        if text.text in seen:
            yield f"{place}: the same text stands in {seen[text.text]}: {text.text!r}"
        seen[text.text] = place


def all_texts(catalogue: Catalogue) -> Iterator[tuple[str, Text]]:
    """Every authored event text with the file that holds it."""
    for text in catalogue.everyday:
        yield "everyday.yaml", text
    for routine in catalogue.routines.values():
        yield from ((f"people/routines/{routine.slug}.yaml", text) for text in routine.texts)
    for change in catalogue.changes.values():
        yield from ((f"people/changes/{change.slug}.yaml", text) for text in change.told)
    for slug, data in catalogue.domains.items():
        for text in data.everyday:
            yield f"{slug}/everyday.yaml", text
        for dimension in data.dimensions.values():
            place = f"{slug}/dimensions/{dimension.slug}.yaml"
            for value in dimension.values:
                yield from ((place, cue) for cue in [*value.cues, *value.against])
            for condition in dimension.conditions:
                yield from ((place, cue) for cue in [*condition.cues.when, *condition.cues.otherwise])
            yield from ((place, reason) for drift in dimension.drifts for reason in drift.told)
            yield from ((place, distractor) for distractor in dimension.distractors)
        for state in data.states.values():
            cues = state.cues
            place = f"{slug}/states/{state.slug}.yaml"
            yield from ((place, cue) for cue in [*cues.start, *cues.course, *cues.end])
        for scenario in data.scenarios.values():
            records = scenario.items.record if scenario.items else ()
            yield from ((f"{slug}/scenarios/{scenario.slug}.yaml", record) for record in records)
        for regularity in data.regularities.values():
            place = f"{slug}/regularities/{regularity.slug}.yaml"
            yield from ((place, text) for text in (*regularity.texts, *regularity.contrast))
        for episode in data.episodes.values():
            yield from ((f"{slug}/episodes/{episode.slug}.yaml", event) for event in episode.events)
