"""Stage 1, deep retrieval: topic prediction, similarity search, redundancy removal, high-signal selection."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime

import numpy as np

from agents.contract import JSON, LLM, Engine, Evidence, Limits, Search, Step, TaskInput, Topic
from agents.methods.iba.model import EvidenceNet
from agents.methods.iba.select import STATE, Candidate, choose, fold
from agents.methods.iba.topics import asked_by_tools
from agents.toolkit.budget import evidence_tokens, fit
from agents.toolkit.comparing import Comparison, Table, compare, standing_out, topical
from agents.toolkit.dates import announced
from agents.toolkit.rendering import chat, item_lines, task_values, tool_lines, topic_lines

MOST_TOPICS = 10
ITEMS_SHOWN = 12
PER_TOPIC = 12
FADE = 0.4  # standard deviations that an event loses a year: what a person showed lately holds more often
LEAST = 0.5  # standard deviations of a topic that an event must lie above its mean
REQUEST = "request"
REQUEST_HITS = 6
WEIGHTS = {REQUEST: 0.3, STATE: 0.5}  # of the budget; every predicted topic has 1 falling to 0.6


def retrieve(task: TaskInput, *, llm: LLM, search: Search, limits: Limits, items: Sequence[JSON] = ()) -> EvidenceNet:
    """The evidence net of the task. One model call; all else is code.

    ``items`` are what a look-up offers: their fields tell which of the person's habits will decide.
    """
    topics = predict_topics(task, llm=llm, items=items)
    groups, queries = option_queries(task.vocabulary)
    comparison = compare(search, queries)
    table = topical(comparison, groups)
    found = [*_of_topics(task, topics, comparison, table), *_of_states(task, comparison), *_of_request(task, search)]
    folded = fold(_best_topic_each(found))
    ranks = {topic.slug: 1.0 - 0.4 * rank / max(len(topics), 1) for rank, topic in enumerate(topics)}
    evidence = choose(folded, weights={**WEIGHTS, **ranks}, limits=limits)
    return EvidenceNet(evidence, tuple(ranks), _trace(topics, comparison, folded, evidence))


def retrieve_plain(task: TaskInput, *, search: Search, limits: Limits) -> EvidenceNet:
    """What common RAG does: the request is the query. The ablation of this stage, and the ``rag`` baseline."""
    found = search(task.request, k=limits.evidence_events, engine=Engine.HYBRID)
    evidence = tuple(sorted(fit(found, limits), key=lambda item: (item.occurred_at, item.event_id)))
    step = Step("retrieve", "search", f"Searched the history with the request: {len(evidence)} events.",
                {"queries": [task.request], "kept": [item.event_id for item in evidence]})  # fmt: skip
    return EvidenceNet(evidence, (), (step,))


def predict_topics(task: TaskInput, *, llm: LLM, items: Sequence[JSON] = ()) -> tuple[Topic, ...]:
    """The topics that may matter, most important first: those that the tools ask for, then those that the model names.

    Slugs that the vocabulary lacks are dropped.
    """
    reply = llm.complete(
        chat(
            "iba/topics",
            **task_values(task),
            tools=tool_lines(task.tools),
            items=item_lines(list(items)[:ITEMS_SHOWN]),
            topics="\n".join(topic_lines([topic], options=_own(topic, task)) for topic in task.vocabulary),
            most=str(MOST_TOPICS),
        ),
        stage="topics",
        schema=_schema(),
    )
    known = {topic.slug: topic for topic in task.vocabulary}
    slugs = dict.fromkeys([*asked_by_tools(task), *(reply.parsed or {}).get("topics", [])])
    return tuple(known[slug] for slug in slugs if slug in known)[:MOST_TOPICS]


def _own(topic: Topic, task: TaskInput) -> bool:
    """Of the task's domain: the likeliest by far, so that its options are worth their tokens."""
    return topic.slug.startswith(f"{task.domain}.")


def option_queries(vocabulary: Sequence[Topic]) -> tuple[list[slice], list[str]]:
    """One text for each option of each topic, and which of them are a topic's."""
    groups, queries = [], list[str]()
    for topic in vocabulary:
        texts = [f"{topic.question} {option.description}" for option in topic.options]
        groups.append(slice(len(queries), len(queries) + len(texts)))
        queries.extend(texts)
    return groups, queries


def _of_topics(task: TaskInput, topics: Sequence[Topic], comparison: Comparison, table: Table) -> list[Candidate]:
    columns = {topic.slug: number for number, topic in enumerate(task.vocabulary)}
    scored = standing_out(table, [columns[topic.slug] for topic in topics]) - FADE * _ages(comparison, task.as_of)
    found = []
    for number, topic in enumerate(topics):
        scores = scored[:, number]
        for row in np.argsort(-scores, kind="stable")[:PER_TOPIC]:
            if scores[row] >= LEAST:
                found.append(Candidate(comparison.events[row], topic.slug, float(scores[row])))
    return found


def _ages(comparison: Comparison, now: datetime) -> Table:
    """(events, 1) years since each event."""
    years = [(now - event.occurred_at).days / 365 for event in comparison.events]
    return np.array(years, np.float32).reshape(-1, 1)


def _of_states(task: TaskInput, comparison: Comparison) -> list[Candidate]:
    """Events that announce a time of some days which is not over."""
    spans = [(event, announced(event.text, event.occurred_at)) for event in comparison.events]
    return [Candidate(event, STATE, 1.0) for event, span in spans if span is not None and span.until > task.as_of]


def _of_request(task: TaskInput, search: Search) -> list[Candidate]:
    hits = search(task.request, k=REQUEST_HITS, engine=Engine.HYBRID)
    return [Candidate(hit, REQUEST, 1.0 / (1 + rank)) for rank, hit in enumerate(hits)]


def _best_topic_each(candidates: Sequence[Candidate]) -> tuple[Candidate, ...]:
    """One candidate an event: a state stays one; else the topic where it stands out most."""

    def rank(item: Candidate) -> tuple[bool, float, str]:
        return (item.topic == STATE, item.signal, item.topic)

    best: dict[str, Candidate] = {}
    for candidate in candidates:
        other = best.get(candidate.event.event_id)
        if other is None or rank(candidate) > rank(other):
            best[candidate.event.event_id] = candidate
    return tuple(best.values())


def _schema() -> JSON:
    return {
        "type": "object",
        "properties": {"topics": {"type": "array", "items": {"type": "string"}, "maxItems": MOST_TOPICS}},
        "required": ["topics"],
        "additionalProperties": False,
    }


def _trace(
    topics: Sequence[Topic], comparison: Comparison, folded: Sequence[Candidate], evidence: Sequence[Evidence]
) -> tuple[Step, ...]:
    supported = {item.event.event_id: list(item.event.support) for item in folded if item.event.support}
    return (
        Step("retrieve", "search", f"Compared {len(comparison.events)} events with every topic's options.",
             {"topics": [topic.slug for topic in topics]}),
        Step("retrieve", "code", f"Folded near copies: {len(folded)} different events.", {"support": supported}),
        Step("retrieve", "code", f"Chose {len(evidence)} events of high signal ({evidence_tokens(evidence)} tokens).",
             {"kept": [{"event": item.event_id, "topic": item.topic} for item in evidence]}),
    )  # fmt: skip
