"""The code half of deep retrieval. It is the search engine ``deep``, too, which asks no model."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta

from agents.contract import Engine, Evidence, Limits, Search, Topic
from agents.dates import search_window
from agents.iba.select import Candidate, choose, fold

PER_QUERY = 12
RANK_OFFSET = 5.0  # flattens the difference between the first ranks
RECENT = timedelta(days=45)
FEEDBACK_HITS = 3
SECOND_LOOK = 0.6  # weight of the queries made from the first hits, together
IN_WINDOW = 1.0  # weight of the query within the time that it names itself


@dataclass(frozen=True, slots=True)
class Probe:
    """One query of the deep search: what is asked, for which topic, how much the topic weighs."""

    topic: str
    query: str
    weight: float = 1.0
    since: datetime | None = None
    until: datetime | None = None


def topic_query(topic: Topic) -> str:
    """The topic's question with the words of its options, since a cue shows one of them."""
    return f"{topic.question} " + " ".join(f"{option.label}: {option.description}" for option in topic.options)


def standing_probes(now: datetime) -> tuple[Probe, ...]:
    """Asked for every task: circumstances that bear on anything. Only the last weeks count for them."""
    since = now - RECENT
    return (
        Probe(
            "probe.state", "for now, until further notice, only these days, temporary change of routine", 0.25, since
        ),
        Probe("probe.health", "doctor, pain, injury, recovery, medicine, not allowed to", 0.25, since),
        Probe("probe.plans", "money is tight, budget, visitors, moving, new job, deadline this week", 0.15, since),
    )


def run_probes(probes: Sequence[Probe], search: Search, *, k: int = PER_QUERY) -> tuple[Candidate, ...]:
    """What each probe found; the signal falls with the rank, so that engines of any scale compare."""
    found: list[Candidate] = []
    for probe in probes:
        hits = search(probe.query, k=k, engine=Engine.HYBRID, since=probe.since, until=probe.until)
        found.extend(Candidate(hit, probe.topic, _signal(rank)) for rank, hit in enumerate(hits))
    return tuple(found)


def best_topic_each(candidates: Sequence[Candidate]) -> tuple[Candidate, ...]:
    """One candidate an event: the topic where it ranked best, with a little for every further topic."""
    grouped: dict[str, list[Candidate]] = {}
    for candidate in candidates:
        grouped.setdefault(candidate.event.event_id, []).append(candidate)
    return tuple(_merged(group) for group in grouped.values())


def _merged(group: Sequence[Candidate]) -> Candidate:
    best = max(group, key=lambda item: (item.signal, item.topic))
    return replace(best, signal=best.signal + 0.1 * (sum(item.signal for item in group) - best.signal))


def _signal(rank: int) -> float:
    return RANK_OFFSET / (RANK_OFFSET + rank)


def deep_search(
    query: str, search: Search, k: int, now: datetime, topics: Sequence[Topic] = ()
) -> tuple[Evidence, ...]:
    """The ``k`` best events for ``query``, best first, without a model.

    With ``topics`` (a task): a probe for each of them and the standing probes, then quotas.
    Without (a question): the query, the time that it names, and second looks from the first hits.
    """
    if topics:
        probes = [Probe("request", query, 2.0), *(Probe(topic.slug, topic_query(topic)) for topic in topics)]
        probes.extend(standing_probes(now))
        limits = Limits(evidence_events=k, evidence_tokens=10**9)
        weights = {probe.topic: probe.weight for probe in probes}
        return choose(fold(best_topic_each(run_probes(probes, search))), weights=weights, limits=limits, now=now)
    return _question_search(query, search, k, now)


def _question_search(query: str, search: Search, k: int, now: datetime) -> tuple[Evidence, ...]:
    first = search(query, k=max(3 * k, 30), engine=Engine.HYBRID)
    votes = {hit.event_id: _signal(rank) for rank, hit in enumerate(first)}
    events = {hit.event_id: hit for hit in first}
    for weight, hits in _second_looks(query, first, search, k, now):
        for rank, hit in enumerate(hits):
            events.setdefault(hit.event_id, hit)
            votes[hit.event_id] = votes.get(hit.event_id, 0.0) + weight * _signal(rank)
    order = sorted(votes, key=lambda event_id: (-votes[event_id], event_id))
    return tuple(replace(events[event_id], score=votes[event_id]) for event_id in order[:k])


def _second_looks(
    query: str, first: Sequence[Evidence], search: Search, k: int, now: datetime
) -> list[tuple[float, tuple[Evidence, ...]]]:
    looks = [
        (SECOND_LOOK / FEEDBACK_HITS, search(f"{query} {hit.text}", k=2 * k, engine=Engine.HYBRID))
        for hit in first[:FEEDBACK_HITS]
    ]
    window = search_window(query, now)
    if window is not None:
        looks.append((IN_WINDOW, search(query, k=2 * k, engine=Engine.HYBRID, since=window[0], until=window[1])))
    return looks
