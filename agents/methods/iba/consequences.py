"""Consequences across dimensions: what a state bears on elsewhere (toothache -> soft food)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from datetime import datetime, timedelta

from agents.contract import LLM, Constraint, ConstraintKind, Evidence, TaskInput
from agents.methods.iba.model import EvidenceNet
from agents.methods.iba.think import accept, ask_rows
from agents.methods.iba.topics import topics_of
from agents.toolkit.dates import validity
from agents.toolkit.rendering import chat, constraint_lines, evidence_ids, evidence_lines, task_values, topic_lines

SHORTEST = timedelta(days=1)


def consequences(
    task: TaskInput, net: EvidenceNet, constraints: Sequence[Constraint], *, llm: LLM
) -> tuple[Constraint, ...]:
    """States that follow from running states for other dimensions. One model call, none where no state runs.

    A proposal is accepted only if it names a value, cites known events in the order of their dates and among them
    a text whose announced time is not over. It ends when that time ends.
    """
    running = [item for item in net.evidence if _runs(item, task)]
    if not running:
        return ()
    offered = ask_rows(
        chat(
            "iba/consequences",
            **task_values(task),
            topics=topic_lines(topics_of(task, net), options=True),
            evidence=evidence_lines(net.evidence),
            constraints=constraint_lines(constraints),
        ),
        llm=llm,
        stage="consequences",
    )
    ids = evidence_ids(net.evidence)
    rows = [row for row in offered if _in_order(row.get("evidence", []), ids, net)]
    proposed = accept(rows, net.evidence, task.vocabulary, prefix="x")
    return tuple(
        replace(item, kind=ConstraintKind.STATE, valid_until=_end(item, running))
        for item in proposed
        if item.value and set(item.evidence) & {event.event_id for event in running}
    )


def _runs(item: Evidence, task: TaskInput) -> bool:
    span = validity(item.text, item.occurred_at)
    return span is not None and span.until > task.as_of and span.until - span.since > SHORTEST


def _end(item: Constraint, running: Sequence[Evidence]) -> datetime:
    spans = [validity(event.text, event.occurred_at) for event in running if event.event_id in item.evidence]
    return max(span.until for span in spans if span is not None)


def _in_order(labels: Sequence[str], ids: dict[str, str], net: EvidenceNet) -> bool:
    dates = {item.event_id: item.occurred_at for item in net.evidence}
    cited = [dates[ids[label]] for label in labels if label in ids]
    return len(cited) == len(labels) and cited == sorted(cited)
