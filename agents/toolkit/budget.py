"""The evidence budget: the same for every method, counted in one place."""

from __future__ import annotations

from collections.abc import Sequence

from agents.contract import Evidence, Limits

CHARACTERS_PER_TOKEN = 4


def tokens_of(text: str) -> int:
    """Tokens of a text, estimated at four characters each, rounded up."""
    return -(-len(text) // CHARACTERS_PER_TOKEN)


def evidence_tokens(evidence: Sequence[Evidence]) -> int:
    return sum(tokens_of(item.text) for item in evidence)


def fit(evidence: Sequence[Evidence], limits: Limits) -> tuple[Evidence, ...]:
    """The longest selection within the budget that keeps the order given, strongest first.

    An event that no longer fits is left out; shorter ones behind it may still come in.
    """
    kept: list[Evidence] = []
    used, ids = 0, set()
    for item in evidence:
        cost = tokens_of(item.text)
        if item.event_id in ids or used + cost > limits.evidence_tokens:
            continue
        if len(kept) == limits.evidence_events:
            break
        kept.append(item)
        ids.add(item.event_id)
        used += cost
    return tuple(kept)
