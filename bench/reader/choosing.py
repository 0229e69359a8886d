"""How the stand-in chooses among options and items: constraints restated weigh most, raw evidence least."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from agents.toolkit.dates import find_days
from bench.reader.reading import Prompt
from bench.reader.scoring import Array, Embed, centred, coverage, recency, standard, trust

RESTATED_LAST = 4.0
RESTATED = 1.6
LABELLED = 0.05  # on the scale of centred cosines, where a constraint names the option
FAILED = 6.0
PROFILE = 1.2
EVIDENCE = 1.0
SHARPNESS = 2.0  # how much the nearest lines count above the others
WORDS = 0.06  # what a full overlap of words is worth, on the scale of centred cosines
LITERAL = 10.0  # what the request names outright


def weighted_lines(prompt: Prompt) -> list[tuple[str, float]]:
    """Every line that may speak for an option, with its weight."""
    lines = [(text, restated_weight(prompt)) for _, text in prompt.constraints]
    lines.extend((text, FAILED) for text in prompt.failed)
    lines.extend((text, PROFILE * trust(text)) for text in prompt.profile)
    lines.extend((line.text, EVIDENCE * recency(line.at, prompt.now) * trust(line.text)) for line in prompt.evidence)
    return lines


def option_scores(options: Sequence[str], about: str, prompt: Prompt, embed: Embed, names: Sequence[str] = ()) -> Array:
    """A score for each option's text; zeros where nothing speaks for any. ``about`` says what is chosen.

    ``names`` are short names of the options, where they have any beside their texts.
    """
    lines = weighted_lines(prompt)
    if not lines or len(options) < 2:
        return np.zeros(len(options), np.float32)
    texts = [text for text, _ in lines]
    for_option = centred(texts, options, embed) + WORDS * _overlap(texts, options)
    weights = np.array([weight for _, weight in lines], np.float32)
    relevance = _relevance(texts, options, about, embed)
    scores: Array = (weights * relevance) @ for_option
    return scores + _by_label(names or options, texts[: len(prompt.constraints)], restated_weight(prompt), relevance)


def restated_weight(prompt: Prompt) -> float:
    """Constraints that do not stand last are read with less attention."""
    return RESTATED_LAST if prompt.last == "Constraints" else RESTATED


def _by_label(names: Sequence[str], constraints: Sequence[str], weight: float, relevance: Array) -> Array:
    """What constraints of the shape "Seat: Aisle. ..." say by naming an option; the most relevant one counts."""
    scores = np.zeros(len(names), np.float32)
    for number, text in enumerate(constraints):
        label = text.partition(". ")[0].partition(": ")[2]
        for place, name in enumerate(names):
            if label and coverage(name, label) >= 1.0:
                scores[place] = max(scores[place], LABELLED * weight * (0.5 + float(relevance[number])))
    return scores


def _relevance(texts: Sequence[str], options: Sequence[str], about: str, embed: Embed) -> Array:
    """How much each line has to do with the choice at all, summing to 1."""
    near = embed(list(texts), "passage") @ embed([about, *options], "query").T
    words = np.array([max(coverage(option, text) for option in options) for text in texts], np.float32)
    sharp = np.exp(SHARPNESS * (standard(near.max(axis=1)) + 2.0 * words))
    result: Array = sharp / sharp.sum()
    return result


def _overlap(texts: Sequence[str], options: Sequence[str]) -> Array:
    """(lines, options) shares of shared words, less the line's mean over the options."""
    table = np.array([[coverage(option, text) for option in options] for text in texts], np.float32)
    result: Array = table - table.mean(axis=1, keepdims=True)
    return result


def pick(options: Mapping[str, str], about: str, prompt: Prompt, embed: Embed) -> str:
    """The key of the best option; the first where nothing speaks for any. An option named in the request wins."""
    keys = list(options)
    texts = [options[key] or key.replace("_", " ") for key in keys]
    scores = option_scores(texts, about, prompt, embed, [key.replace("_", " ") for key in keys])
    named = [LITERAL * stands_in(key.replace("_", " "), prompt.request) for key in keys]
    return keys[int(np.argmax(scores + np.array(named, np.float32)))]


def pick_item(prompt: Prompt, embed: Embed) -> dict[str, Any] | None:
    """The item whose fields score best, field by field; what the request names outright counts first."""
    if not prompt.items:
        return None
    totals = np.array([LITERAL * _named_fields(item, prompt) for item in prompt.items], np.float32)
    for name in _text_fields(prompt.items):
        values = [str(item.get(name, "")) for item in prompt.items]
        distinct = sorted(set(values))
        if len(distinct) > 1:
            scores = option_scores(distinct, name.replace("_", " "), prompt, embed)
            place = {value: number for number, value in enumerate(distinct)}
            totals += np.array([scores[place[value]] for value in values], np.float32)
    return prompt.items[int(np.argmax(totals))]


def _named_fields(item: Mapping[str, Any], prompt: Prompt) -> int:
    """How many fields of the item stand in the request: words, numbers, or a day that it names."""
    days = {day.isoformat() for day in find_days(prompt.request, prompt.now)}
    return sum(
        str(value) in days or stands_in(str(value), prompt.request)
        for name, value in item.items()
        if name not in {"id", "title"} and not isinstance(value, bool)
    )


def stands_in(value: str, request: str) -> bool:
    """Whether the request has the value as whole words."""
    return bool(value) and re.search(rf"(?<!\w){re.escape(value)}(?!\w)", request, re.IGNORECASE) is not None


def _text_fields(items: Sequence[Mapping[str, Any]]) -> list[str]:
    """Fields that say something in words: no ids, titles, numbers."""
    names = dict.fromkeys(name for item in items for name in item)
    return [
        name for name in names
        if name not in {"id", "title", "name"} and any(isinstance(item.get(name), str) and item[name] for item in items)
    ]  # fmt: skip
