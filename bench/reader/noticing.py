"""What the stand-in notices in evidence: which option of a topic a line speaks for, how long, in which company."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import timedelta
from typing import Any

import numpy as np

from agents.methods.iba.scope import contexts
from agents.toolkit.dates import Span, validity
from bench.reader.reading import Line, Prompt, TopicText
from bench.reader.scoring import Array, Embed, centred, rare_overlap, recency, trust

SHARED_WORDS = 0.01  # of a cosine, for each unit of shared rare words
RELEVANT = 0.3  # standard deviations above the mean from which a line has to do with a topic
FOLLOWS = 1.2  # the same, for a consequence of a state for another topic
CITED = 4
OWN, RIVAL = 1.0, 2.0  # how sharply a line's say in a topic grows with its nearness, and falls beside a nearer topic
BOUND = 0.5  # what a line that names a company or a weekend counts for what holds in general
NEAREST_TOPICS = 2


@dataclass(frozen=True, slots=True)
class Table:
    """(lines, options of all topics) scores, standardised; ``columns`` says where a topic's options lie."""

    scores: Array
    columns: dict[str, slice]
    nearest: Array  # (lines, topics) best score of any option


def option_text(topic: TopicText, slug: str) -> str:
    """The sentence for one option, from a closed set, so that its embedding is made only once."""
    label, description = topic.options[slug]
    return f"{topic.name}: {label}. {description}"


def table(prompt: Prompt, embed: Embed) -> Table:
    """Meaning and shared words, each line against every option; what an option likes in all lines is taken off."""
    texts = [option_text(topic, slug) for topic in prompt.topics for slug in topic.options]
    lines = [line.text for line in prompt.evidence]
    scores = centred(lines, texts, embed) + SHARED_WORDS * rare_overlap(lines, texts)
    spread = float(scores.std()) or 1.0
    scores = scores / spread
    columns, start = {}, 0
    for topic in prompt.topics:
        columns[topic.slug] = slice(start, start + len(topic.options))
        start += len(topic.options)
    nearest = np.stack([scores[:, place].max(axis=1) for place in columns.values()], axis=1)
    nearest = nearest - nearest.mean(axis=0, keepdims=True)
    return Table(scores.astype(np.float32), columns, nearest.astype(np.float32))


def constraints(prompt: Prompt, embed: Embed) -> list[dict[str, Any]]:
    """Rows for the reply: a trait, conditionals and states for each topic that some line speaks about."""
    topics = [topic for topic in prompt.topics if topic.options]
    if not topics or not prompt.evidence:
        return _quoted(prompt, embed)
    scored = table(prompt, embed)
    rows = []
    for number, topic in enumerate(prompt.topics):
        if topic.options:
            rows.extend(_topic_rows(topic, number, scored, prompt))
    return rows


def consequences(prompt: Prompt, embed: Embed) -> list[dict[str, Any]]:
    """States on further topics that a running state bears on."""
    if not prompt.topics or not prompt.evidence:
        return []
    scored = table(prompt, embed)
    rows = []
    for index, line in enumerate(prompt.evidence):
        span = _state(line)
        if span is None or span.until <= prompt.now:
            continue
        for number in np.argsort(-scored.nearest[index])[: NEAREST_TOPICS + 1]:
            topic = prompt.topics[int(number)]
            if scored.nearest[index, number] >= FOLLOWS and topic.options:
                best = _best_option(topic, [index], scored, prompt)
                rows.append(_row(topic, best, [line], 0.8, kind="state", until=span))
    return rows


def _relevant(scored: Table, topic: int, prompt: Prompt) -> list[int]:
    """Lines that were found for this topic; where the prompt does not say, those that it is the nearest topic of."""
    labels = prompt.found.get(prompt.topics[topic].slug, ())
    if prompt.found:
        return [index for index, line in enumerate(prompt.evidence) if line.label in labels]
    order = np.argsort(-scored.nearest, axis=1)[:, :NEAREST_TOPICS]
    return [
        index for index in range(scored.scores.shape[0])
        if topic in order[index] and scored.nearest[index, topic] >= RELEVANT
    ]  # fmt: skip


def _topic_rows(topic: TopicText, number: int, scored: Table, prompt: Prompt) -> list[dict[str, Any]]:
    """A line that holds for a while speaks for its nearest topic only; what it means for others is asked apart.

    All other lines have a say in the trait, each as much as it is about this topic more than about another.
    """
    lines = prompt.evidence
    indices = _relevant(scored, number, prompt)
    limited = [index for index in range(len(lines)) if _state(lines[index]) is not None]
    states = [index for index in limited if int(scored.nearest[index].argmax()) == number]
    settled = [index for index in range(len(lines)) if index not in limited]
    rows, trait = [], ""
    if settled and any(index in settled for index in indices):
        trait = _best_option(topic, settled, scored, prompt, _pull(scored, number, settled, prompt))
        cited = _speaking_for(trait, topic, [index for index in indices if index in settled], scored, prompt)
        rows.append(_row(topic, trait, cited, _strength(topic, trait, indices, scored)))
    bound = [index for index in indices if index in settled and contexts(lines[index].text, lines[index].at)]
    rows.extend(_conditional_rows(topic, trait, bound, scored, prompt))
    for index in states:
        best = _best_option(topic, [index], scored, prompt)
        rows.append(_row(topic, best, [lines[index]], 0.8, kind="state", until=_state(lines[index])))
    return rows


def _pull(scored: Table, topic: int, indices: Sequence[int], prompt: Prompt) -> Array:
    """How much each line is about the topic: absolutely, and beside the topic that it is nearest to."""
    near = scored.nearest[list(indices)]
    pull = np.exp(OWN * near[:, topic] + RIVAL * (near[:, topic] - near.max(axis=1)))
    bound = [bool(contexts(prompt.evidence[index].text, prompt.evidence[index].at)) for index in indices]
    result: Array = pull * np.where(bound, BOUND, 1.0)
    return result


def _conditional_rows(
    topic: TopicText, trait: str, indices: Sequence[int], scored: Table, prompt: Prompt
) -> list[dict[str, Any]]:
    groups: dict[str, list[int]] = {}
    for index in indices:
        line = prompt.evidence[index]
        for context in sorted(contexts(line.text, line.at)):
            groups.setdefault(context, []).append(index)
    rows = []
    for context, group in sorted(groups.items()):
        best = _best_option(topic, group, scored, prompt)
        if best != trait:
            cited = _speaking_for(best, topic, group, scored, prompt)
            rows.append(_row(topic, best, cited, 0.6, kind="conditional", scope=context))
    return rows


def _weights(indices: Sequence[int], prompt: Prompt) -> Array:
    lines = [prompt.evidence[index] for index in indices]
    return np.array([recency(line.at, prompt.now) * trust(line.text) for line in lines], np.float32)


def _votes(topic: TopicText, indices: Sequence[int], scored: Table) -> Array:
    """(indices, options) scores less the line's mean over the topic's options."""
    block = scored.scores[list(indices)][:, scored.columns[topic.slug]]
    result: Array = block - block.mean(axis=1, keepdims=True)
    return result


def _best_option(
    topic: TopicText, indices: Sequence[int], scored: Table, prompt: Prompt, pull: Array | float = 1.0
) -> str:
    totals = (pull * _weights(indices, prompt)) @ _votes(topic, indices, scored)
    return list(topic.options)[int(np.argmax(totals))]


def _speaking_for(value: str, topic: TopicText, indices: Sequence[int], scored: Table, prompt: Prompt) -> list[Line]:
    votes = _votes(topic, indices, scored)[:, list(topic.options).index(value)]
    order = sorted(range(len(indices)), key=lambda place: (-float(votes[place]), place))
    chosen = [place for place in order if votes[place] > 0][:CITED] or order[:1]
    return [prompt.evidence[indices[place]] for place in sorted(chosen)]


def _strength(topic: TopicText, value: str, indices: Sequence[int], scored: Table) -> float:
    share = float((_votes(topic, indices, scored).argmax(axis=1) == list(topic.options).index(value)).mean())
    return round(0.4 + 0.5 * share, 2)


def _state(line: Line) -> Span | None:
    """The time for which the line says that something holds, if that is more than a day."""
    span = validity(line.text, line.at)
    return span if span is not None and span.until - span.since > timedelta(days=1) else None


def _row(
    topic: TopicText, value: str, lines: Sequence[Line], strength: float,
    *, kind: str = "trait", scope: str = "", until: Span | None = None,
) -> dict[str, Any]:  # fmt: skip
    return {
        "dimension": topic.slug,
        "value": value,
        "text": option_text(topic, value),
        "polarity": "for",
        "kind": kind,
        "scope": scope,
        "valid_until": (until.until - timedelta(days=1)).date().isoformat() if until else None,
        "strength": strength,
        "evidence": [line.label for line in lines],
    }


def _quoted(prompt: Prompt, embed: Embed) -> list[dict[str, Any]]:
    """Without options to choose from: the lines nearest to the request, as they stand."""
    return [{"text": line.text, "evidence": [line.label]} for line in nearest_lines(prompt, embed, 6)]


def nearest_lines(prompt: Prompt, embed: Embed, count: int) -> list[Line]:
    """The evidence lines nearest to the request, newer first among equals, in the order of the prompt."""
    if not prompt.evidence:
        return []
    near = (embed([line.text for line in prompt.evidence], "passage") @ embed([prompt.request or "plan"], "query").T)[
        :, 0
    ]
    score = near + 0.02 * np.array([recency(line.at, prompt.now) for line in prompt.evidence])
    chosen = np.argsort(-score, kind="stable")[:count]
    return [prompt.evidence[index] for index in sorted(int(number) for number in chosen)]
