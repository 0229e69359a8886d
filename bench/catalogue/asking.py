"""Whether scenarios ask for regularities that there are, and in arguments that can take the answer."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING

from bench.catalogue.regularities import Regularity
from bench.catalogue.scenario import Parameter, Scenario

if TYPE_CHECKING:
    from bench.catalogue.load import DomainData

TAKES = {
    "amount": {("number", ""), ("integer", "")},
    "number": {("integer", ""), ("number", "")},
    "time": {("string", "time")},
    "weekday": {("string", "")},
}  # answer -> type and format of a parameter


def typed_faults(slug: str, domains: Mapping[str, DomainData]) -> Iterator[str]:
    """What a domain's scenarios ask for; what they ask of a domain that is not loaded is not looked at."""
    data = domains[slug]
    known = {f"{one}.{name}": found for one, other in domains.items() for name, found in other.regularities.items()}
    for name in data.regularities.keys() & data.dimensions.keys():
        yield f"{slug}/regularities/{name}.yaml: a dimension of this domain has the same slug"
    for scenario in data.scenarios.values():
        for reference, typed in scenario.regularities.items():
            place = f"{slug}/scenarios/{scenario.slug}.yaml: regularities: {reference}"
            regularity = known.get(reference)
            if regularity is None and reference.split(".")[0] in domains:
                yield f"{place}: there is none; there are: {', '.join(known) or 'none'}"
            elif regularity and (fault := _parameter_fault(scenario, typed.parameter, regularity)):
                yield f"{place}: {fault}"


def _parameter_fault(scenario: Scenario, name: str | None, regularity: Regularity) -> str:
    if scenario.action == "generate":
        return f"parameter {name!r} in a scenario that calls no tool; leave it out" if name else ""
    commit = scenario.tools.arguments if scenario.tools else {}
    parameter = commit.get(name or "")
    if parameter is None:
        return f"parameter {name!r} is none of the committing call; those are: {', '.join(commit)}"
    if parameter.dimension or parameter.equals is not None or parameter.item:
        return f"parameter {name!r} is decided by something else; take one without dimension, equals and item"
    if _form(parameter) not in TAKES[regularity.answer]:
        wanted = " or ".join(" ".join(form).strip() for form in sorted(TAKES[regularity.answer]))
        return f"parameter {name!r} is {' '.join(_form(parameter)).strip()}; {regularity.answer} goes into {wanted}"
    return ""


def _form(parameter: Parameter) -> tuple[str, str]:
    return (parameter.type, parameter.format or "")
