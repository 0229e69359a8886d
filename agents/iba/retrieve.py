"""Stage 1, deep retrieval: topic prediction, similarity search, redundancy removal, high-signal selection."""

from __future__ import annotations

from collections.abc import Mapping

from agents.budget import evidence_tokens, fit
from agents.contract import JSON, LLM, Engine, Evidence, Limits, Search, Step, TaskInput, Topic
from agents.iba.deep import Probe, best_topic_each, run_probes, standing_probes, topic_query
from agents.iba.model import EvidenceNet
from agents.iba.select import Candidate, choose, fold
from agents.rendering import chat, task_values, tool_lines, topic_lines

MOST_TOPICS = 12
REQUEST_WEIGHT = 1.0


def retrieve(task: TaskInput, *, llm: LLM, search: Search, limits: Limits) -> EvidenceNet:
    """The evidence net of the task. One model call; all else is code."""
    topics = predict_topics(task, llm=llm)
    probes = [Probe("request", task.request, REQUEST_WEIGHT)]
    probes.extend(Probe(topic.slug, topic_query(topic), _weight(rank)) for rank, topic in enumerate(topics))
    probes.extend(standing_probes(task.as_of))
    found = run_probes(probes, search)
    folded = fold(best_topic_each(found))
    weights = {probe.topic: probe.weight for probe in probes}
    evidence = choose(folded, weights=weights, limits=limits, now=task.as_of)
    slugs = tuple(topic.slug for topic in topics)
    return EvidenceNet(evidence, slugs, _trace(probes, found, folded, evidence))


def retrieve_plain(task: TaskInput, *, search: Search, limits: Limits) -> EvidenceNet:
    """What common RAG does: the request is the query. The ablation of this stage, and the ``rag`` baseline."""
    found = search(task.request, k=limits.evidence_events, engine=Engine.HYBRID)
    evidence = tuple(sorted(fit(found, limits), key=lambda item: (item.occurred_at, item.event_id)))
    step = Step("retrieve", "search", f"Searched the history with the request: {len(evidence)} events.",
                {"queries": [task.request], "kept": [item.event_id for item in evidence]})  # fmt: skip
    return EvidenceNet(evidence, (), (step,))


def predict_topics(task: TaskInput, *, llm: LLM) -> tuple[Topic, ...]:
    """The topics that may matter, most important first. Slugs that the vocabulary lacks are dropped."""
    reply = llm.complete(
        chat(
            "iba/topics",
            **task_values(task),
            tools=tool_lines(task.tools),
            topics=topic_lines(task.vocabulary, options=False),
            most=str(MOST_TOPICS),
        ),
        stage="topics",
        schema=_schema(),
    )
    known = {topic.slug: topic for topic in task.vocabulary}
    slugs = dict.fromkeys((reply.parsed or {}).get("topics", []))
    return tuple(known[slug] for slug in slugs if slug in known)[:MOST_TOPICS]


def _schema() -> JSON:
    return {
        "type": "object",
        "properties": {"topics": {"type": "array", "items": {"type": "string"}, "maxItems": MOST_TOPICS}},
        "required": ["topics"],
        "additionalProperties": False,
    }


def _weight(rank: int) -> float:
    """Topics named first get more of the budget: 1.6 falling to 0.4 over the list."""
    return 1.6 - 1.2 * rank / MOST_TOPICS


def _trace(
    probes: list[Probe], found: tuple[Candidate, ...], folded: tuple[Candidate, ...], evidence: tuple[Evidence, ...]
) -> tuple[Step, ...]:
    queries: Mapping[str, str] = {probe.topic: probe.query for probe in probes}
    supported = {item.event.event_id: list(item.event.support) for item in folded if item.event.support}
    return (
        Step("retrieve", "search", f"Ran {len(probes)} searches over the history.",
             {"queries": queries, "found": len(found)}),
        Step("retrieve", "code", f"Folded near copies: {len(folded)} different events.", {"support": supported}),
        Step("retrieve", "code", f"Chose {len(evidence)} events of high signal ({evidence_tokens(evidence)} tokens).",
             {"kept": [{"event": item.event_id, "topic": item.topic} for item in evidence]}),
    )  # fmt: skip
