"""Stage 1, deep retrieval: what could decide, how it would look in somebody's records, and where the records say so.

The budget is shared by stated rules: every lane of the first look gives one event and every query of a further look
one more, until the model asks for nothing, nothing new comes or the budget ends. An eighth is kept for
counter-evidence. What no look asked for is filled up from the first, the eighth too.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, date, datetime, time, timedelta
from typing import Any

from agents.contract import JSON, LLM, Constraint, Engine, Evidence, Limits, Search, Stage, Step, StepKind, TaskInput
from agents.methods.iba.select import Basket, Hits, Signals, folded, fused
from agents.methods.iba.stages import Aspect, EvidenceNet, Lane, Outlook
from agents.toolkit.rendering import bullets, chat, evidence_lines, item_lines, one_line, task_lines, tool_lines
from agents.toolkit.retrieval import by_time

MOST_ASPECTS = 12
MOST_BEHAVIOURS = 4  # of an aspect
MOST_QUERIES = MOST_ASPECTS  # of a further look
FURTHER_LOOKS = 6  # a model call each
ITEMS_SHOWN = 12
RESERVE = 1 / 8  # of the budget, for counter-evidence
DEPTH = 3  # times the budget: how far down a search is read, so that ranks can be added up
AROUND = timedelta(hours=12)
NEIGHBOURS = 2  # of a strong event
REQUEST, NOW, NEARBY = "the request", "now", "nearby"


def look_ahead(task: TaskInput, items: Sequence[JSON], *, llm: LLM) -> Outlook:
    """One model call: the day of the action and the aspects. ``items`` are what the look-ups found."""
    reply = llm.complete(
        chat(
            "iba/aspects",
            task=task_lines(task),
            tools=tool_lines(task.tools),
            items=item_lines(list(items)[:ITEMS_SHOWN]),
        ),
        stage=Stage.RETRIEVE,
        schema=_aspects_schema(),
    )
    parsed = reply.parsed or {}
    found: dict[str, Aspect] = {}
    for row in parsed.get("aspects", []):
        name, behaviours = one_line(row["name"]), tuple(filter(None, map(one_line, row["behaviours"])))
        if name and behaviours:
            found.setdefault(name.casefold(), Aspect(name, behaviours[:MOST_BEHAVIOURS]))
    return Outlook(action_day(str(parsed.get("when", "")), task.as_of), tuple(found.values())[:MOST_ASPECTS])


def action_day(when: str, as_of: datetime) -> datetime:
    """The start of the day that the model names, if it is a date ahead; else ``as_of``."""
    try:
        day = date.fromisoformat(when.strip()[:10])
    except ValueError:
        return as_of
    return max(as_of, datetime.combine(day, time(), UTC))


def retrieve(
    task: TaskInput, outlook: Outlook, items: Sequence[JSON], *, llm: LLM, search: Search, limits: Limits
) -> EvidenceNet:
    """The evidence net: a first look by aspects, further ones as long as the model asks and something new comes.

    A query that comes again brings what it resembles next.
    """
    looking = _Looking(task, search, limits)
    lanes = looking.first_lanes(outlook.aspects)
    basket = Basket(limits)
    steps = [_first_step(outlook, basket.take_turns(lanes, len(lanes), RESERVE))]
    for _ in range(FURTHER_LOOKS):
        if basket.left(RESERVE) <= 0:
            break
        queries = _search_on(task, outlook, items, basket.taken, llm=llm)
        came = basket.take_turns(looking.lanes_of(queries), len(queries), RESERVE)
        if queries:
            summary = f"Searched on: {came} new events."
            steps.append(Step(Stage.RETRIEVE, StepKind.SEARCH, summary, {"queries": list(queries)}))
        if not came:
            break
    basket.take_turns(lanes, basket.left(RESERVE), RESERVE)
    kept = [{"event": event.event_id, "aspect": event.aspect} for event in basket.taken]
    steps.append(Step(Stage.RETRIEVE, StepKind.CODE, f"Chose {len(kept)} events.", {"kept": kept}))
    return EvidenceNet(by_time(basket.taken), tuple(steps), tuple(lanes))


def counter_evidence(
    net: EvidenceNet, constraints: Sequence[Constraint], *, task: TaskInput, search: Search, limits: Limits
) -> EvidenceNet:
    """The net with what speaks against the constraints: for each, what resembles its opposite more than all seen.

    What of the budget this leaves goes to the first look's next best.
    """
    basket = Basket(limits)
    basket.take_turns([Lane("", net.evidence)], len(net.evidence))
    strongest = sorted(constraints, key=lambda item: (-item.strength, item.constraint_id))
    looking = _Looking(task, search, limits)
    lanes = []
    for item in strongest:
        hits = looking.found(item.counter) if item.counter else ()
        seen = next((rank for rank, hit in enumerate(hits) if hit in basket), len(hits))
        lanes.append(Lane(f"against {item.constraint_id}", hits[:seen]))
    came = basket.take_turns(lanes, basket.left())
    filled = basket.take_turns(net.waiting, basket.left())
    data = {"queries": [item.counter for item in strongest if item.counter]}
    step = Step(
        Stage.RETRIEVE,
        StepKind.SEARCH,
        f"Looked for counter-evidence: {came} new events; {filled} more fill the budget.",
        data,
    )
    new = basket.taken[len(net.evidence) :]
    return EvidenceNet(by_time((*net.evidence, *new)), (step,))


@dataclass
class _Looking:
    """The searches of one task, and all that they brought, so that copies are known across them."""

    task: TaskInput
    search: Search
    limits: Limits
    known: dict[str, Evidence] = field(default_factory=dict)

    def found(self, query: str) -> Hits:
        return self._keep(self.search(query, k=DEPTH * self.limits.evidence_events, engine=Engine.DEEP))

    def _keep(self, hits: Hits) -> Hits:
        self.known.update((hit.event_id, hit) for hit in hits)
        return hits

    def first_lanes(self, aspects: Sequence[Aspect]) -> list[Lane]:
        """The request, every aspect, what is going on now, and what stands around the strongest event of each."""
        request = self.found(self.task.request)
        tell = {aspect.name: fused(request, [self.found(text) for text in aspect.behaviours]) for aspect in aspects}
        ranked = {name: self._ranked(found) for name, found in tell.items()}
        newest = self._keep(self.search("", k=self.limits.evidence_events))
        nearby = self._around([events[0] for events in ranked.values() if events])
        lanes = [Lane(name, events) for name, events in ranked.items()]
        rest = [Lane(NOW, _going_on(newest, tell)), Lane(NEARBY, nearby)]
        return self._without_copies([Lane(REQUEST, request), *lanes, *rest])

    def lanes_of(self, queries: Sequence[str]) -> list[Lane]:
        return self._without_copies([Lane(query, self.found(query)) for query in queries])

    def _ranked(self, found: Signals) -> Hits:
        order = sorted(found, key=lambda event_id: (-found[event_id], event_id))
        return tuple(self.known[event_id] for event_id in order)

    def _around(self, strong: Sequence[Evidence]) -> Hits:
        """The nearest in time to each of the strong events."""
        near: dict[str, Evidence] = {}
        for event in strong:
            moment = event.occurred_at
            hits = self.search("", since=moment - AROUND, until=moment + AROUND)
            others = [hit for hit in self._keep(hits) if hit.event_id != event.event_id]
            others.sort(key=lambda hit: (abs(hit.occurred_at - moment), hit.event_id))
            near.update((hit.event_id, hit) for hit in others[:NEIGHBOURS])
        return tuple(near.values())

    def _without_copies(self, lanes: Sequence[Lane]) -> list[Lane]:
        standing = folded(tuple(self.known.values()))
        return [
            Lane(lane.name, tuple({standing[e.event_id].event_id: standing[e.event_id] for e in lane.events}.values()))
            for lane in lanes
        ]


def _going_on(newest: Hits, tell: Mapping[str, Signals]) -> Hits:
    """The newest events, those first that are both new and telling: by the sum of the two ranks."""

    def telling(event: Evidence) -> float:
        return max((found[event.event_id] for found in tell.values() if event.event_id in found), default=0.0)

    by_signal = sorted(newest, key=lambda event: (-telling(event), event.event_id))
    place = {event.event_id: rank for rank, event in enumerate(by_signal)}
    order = sorted(enumerate(newest), key=lambda pair: (pair[0] + place[pair[1].event_id], pair[0]))
    return tuple(event for _, event in order)


def _search_on(
    task: TaskInput, outlook: Outlook, items: Sequence[JSON], seen: Sequence[Evidence], *, llm: LLM
) -> tuple[str, ...]:
    """What the model still wants to look for."""
    reply = llm.complete(
        chat(
            "iba/search_on",
            task=task_lines(task),
            tools=tool_lines(task.tools),
            items=item_lines(list(items)[:ITEMS_SHOWN]),
            aspects=bullets([aspect.name for aspect in outlook.aspects]),
            evidence=evidence_lines(by_time(seen)),
        ),
        stage=Stage.RETRIEVE,
        schema=_queries_schema(),
    )
    texts = dict.fromkeys(one_line(text) for text in (reply.parsed or {}).get("queries", []))
    return tuple(filter(None, texts))[:MOST_QUERIES]


def _first_step(outlook: Outlook, came: int) -> Step:
    named: list[dict[str, Any]] = [{"name": a.name, "behaviours": list(a.behaviours)} for a in outlook.aspects]
    summary = f"Looked for {len(named)} aspects: {came} events."
    return Step(Stage.RETRIEVE, StepKind.SEARCH, summary, {"day": f"{outlook.day:%Y-%m-%d}", "aspects": named})


def _aspects_schema() -> JSON:
    text: JSON = {"type": "string"}
    aspect: JSON = {
        "type": "object",
        "properties": {
            "name": text,
            "behaviours": {"type": "array", "items": text, "minItems": 2, "maxItems": MOST_BEHAVIOURS},
        },
        "required": ["name", "behaviours"],
        "additionalProperties": False,
    }
    return {
        "type": "object",
        "properties": {"when": text, "aspects": {"type": "array", "items": aspect, "maxItems": MOST_ASPECTS}},
        "required": ["when", "aspects"],
        "additionalProperties": False,
    }


def _queries_schema() -> JSON:
    return {
        "type": "object",
        "properties": {"queries": {"type": "array", "items": {"type": "string"}, "maxItems": MOST_QUERIES}},
        "required": ["queries"],
        "additionalProperties": False,
    }
