"""Which topics the stand-in thinks may matter: by the fields in which the items differ, else by the request."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from agents.toolkit.comparing import double_centred
from bench.reader.noticing import option_text
from bench.reader.reading import Prompt
from bench.reader.scoring import Array, Embed, cosines, standard

OWN_DOMAIN = 2.0  # standard deviations that a topic of the task's own domain is ahead
FITS = 1.5  # standard deviations above the mean from which a field is about a topic
MOST_VALUES = 0.6  # of the items; a field with more values is a name, a number or a reference


def topics(prompt: Prompt, most: int, embed: Embed) -> list[str]:
    """Slugs of at most ``most`` topics, the likeliest first."""
    if not prompt.topics:
        return []
    fields = _fields(prompt)
    return (_of_fields(prompt, fields, embed) if fields else _nearest(prompt, embed))[:most]


def _fields(prompt: Prompt) -> Mapping[str, list[str]]:
    """Fields of the items -> their values, where they differ and still repeat."""
    values: dict[str, set[str]] = {}
    for item in prompt.items:
        for name, value in item.items():
            if isinstance(value, str) and name != "id":
                values.setdefault(name, set()).add(value)
    most = max(2.0, MOST_VALUES * len(prompt.items))
    return {name: sorted(found) for name, found in values.items() if 2 <= len(found) <= most}


def _of_fields(prompt: Prompt, fields: Mapping[str, list[str]], embed: Embed) -> list[str]:
    """The topics whose options are shown that the values of some field answer, each option by one and each by one."""
    shown = [topic for topic in prompt.topics if topic.options]
    if not shown:
        return _nearest(prompt, embed)
    options = [option_text(topic, slug) for topic in shown for slug in topic.options]
    values = [value for found in fields.values() for value in found]
    table = double_centred(cosines(values, options, embed, ("query", "query")))
    columns = np.split(table, np.cumsum([len(topic.options) for topic in shown])[:-1], axis=1)
    blocks = [np.split(column, np.cumsum([len(found) for found in fields.values()])[:-1]) for column in columns]
    fit = double_centred(np.array([[_answers(block) for block in column] for column in blocks], np.float32).T)
    fit = fit / (float(fit.std()) or 1.0)
    best = {shown[int(row.argmax())].slug: float(row.max()) for row in fit[np.argsort(fit.max(axis=1))]}
    return [slug for slug in sorted(best, key=lambda slug: -best[slug]) if best[slug] >= FITS]


def _answers(block: Array) -> float:
    """(values of a field, options of a topic) -> how well they answer each other."""
    return float(block.max(axis=1).mean() + block.max(axis=0).mean()) / 2


def _nearest(prompt: Prompt, embed: Embed) -> list[str]:
    """The topics nearest to the request or to what the tools take, its own domain ahead."""
    texts = [f"{topic.name}. {topic.question}" for topic in prompt.topics]
    asked = standard(cosines([prompt.request], texts, embed, ("query", "query"))[0])
    parameters = _parameter_texts(prompt)
    taken = np.zeros(len(texts), np.float32)
    if parameters:
        near = cosines(parameters, texts, embed, ("query", "query"))
        taken = standard((near - near.mean(axis=0, keepdims=True)).max(axis=0))
    own = np.array([topic.slug.startswith(f"{prompt.domain}.") for topic in prompt.topics], np.float32)
    scores: Array = asked + taken + OWN_DOMAIN * own
    return [prompt.topics[int(number)].slug for number in np.argsort(-scores, kind="stable")]


def _parameter_texts(prompt: Prompt) -> list[str]:
    schemas = [schema for tool in prompt.tools for schema in tool.get("parameters", {}).get("properties", {}).values()]
    return list(dict.fromkeys(str(schema["description"]) for schema in schemas if schema.get("description")))
