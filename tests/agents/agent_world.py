"""A small fixed world for the agents' tests: a history, a search over it, a train desk."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Callable, Sequence
from dataclasses import replace
from datetime import UTC, datetime
from functools import lru_cache
from typing import Any, Unpack

import numpy as np
import Stemmer

from agents.contract import (
    JSON,
    ActionKind,
    Evidence,
    Limits,
    SearchOptions,
    TaskInput,
    ToolResult,
    ToolSpec,
)

AS_OF = datetime(2026, 3, 9, 9, 0, tzinfo=UTC)  # a Monday
LIMITS = Limits(evidence_events=12, evidence_tokens=600)


def at(day: str) -> datetime:
    return datetime.fromisoformat(day).replace(hour=8, tzinfo=UTC)


_HISTORY = """
2025-05-02 message|Woke two strangers again to get up to the loo. An aisle place would have spared them.
2025-09-14 review|Got up often during the flight and nobody had to move, for once.
2026-01-20 note|Stretching legs in the aisle every hour keeps me sane, asked nobody to move.
2025-03-03 chat|Mum loves the window so she can look at the view and clouds.
2025-08-11 message|The carriage with the phones off was heaven, silence all the way.
2026-02-01 review|Somebody rang his broker loudly for an hour. I need silence on a ride.
2025-06-18 purchase|Vindaloo extra chillies, curry house on the corner, third time this month.
2025-11-22 review|Curry with hot chillies made my eyes water. Perfect.
2026-02-25 search|scotch bonnet chillies near me
2026-03-05 calendar|Dentist took the crown off, only soup and soft mash until the 20th.
2025-10-02 calendar|Ankle in a boot for ten days, no stairs.
2025-12-01 note|Paid for the cheapest fare and it was fine.
2026-02-14 message|Train with the kids: took the table so that they could draw together.
2025-07-07 chat|Rain again, the bins were not collected.
2025-07-19 bank|Water company 41.20
2025-08-02 device_log|Battery low, plugged in at 23:10
2025-09-01 calendar|Parents' evening at school
2025-09-23 chat|Did you see the match? What a mess.
2025-10-15 purchase|Bin bags, washing up liquid, light bulbs
2025-11-05 note|Call the plumber about the tap
2025-12-24 chat|Happy Christmas to you all
2026-01-05 search|how to get wax out of a carpet
2026-01-30 bank|Council tax 152.00
2026-02-20 chat|The neighbour's cat sits on our car again
2026-03-08 message|Need to renew the library card sometime
"""


def history() -> tuple[Evidence, ...]:
    events = []
    for number, row in enumerate(_HISTORY.strip().splitlines()):
        head, text = row.split("|", 1)
        day, channel = head.split(" ")
        events.append(Evidence(f"ev{number:02d}", at(day), channel, text))
    return tuple(events)


TRAINS: tuple[JSON, ...] = (
    {
        "id": "t1",
        "title": "Northbound 08:40",
        "city": "Leeds",
        "departs": "08:40",
        "coach": "table to draw together",
        "price_eur": 40,
    },
    {
        "id": "t2",
        "title": "Avanti 12:15",
        "city": "Leeds",
        "departs": "12:15",
        "coach": "quiet, phones off, silence",
        "price_eur": 55,
    },
    {
        "id": "t3",
        "title": "Avanti 12:15",
        "city": "Porto",
        "departs": "12:15",
        "coach": "quiet, phones off, silence",
        "price_eur": 55,
    },
)

SEARCH_TRAINS = ToolSpec(
    "search_trains",
    "Lists trains to a city.",
    {"type": "object", "properties": {"city": {"type": "string", "description": "Destination"}}, "required": ["city"]},
)
BOOK_TRAIN = ToolSpec(
    "book_train",
    "Buys the ticket.",
    {
        "type": "object",
        "properties": {
            "train_id": {"type": "string", "description": "Id of the train from search_trains"},
            "date": {"type": "string", "format": "date", "description": "Day of travel"},
            "passengers": {"type": "integer", "description": "Number of people", "minimum": 1},
            "seat": {
                "type": "string",
                "enum": ["aisle", "window"],
                "description": "Seat to reserve (aisle = aisle seat; window = window seat)",
            },
        },
        "required": ["train_id", "date", "passengers", "seat"],
        "additionalProperties": False,
    },
    commits=True,
)


def train_task(request: str = "Get a train to Leeds on Friday the 13th for two of us.", **changes: Any) -> TaskInput:
    values: dict[str, Any] = {
        "task_id": "task1", "domain": "travel", "scenario": "Book a train", "request": request, "as_of": AS_OF,
        "action_kind": ActionKind.CALL_API, "tools": (SEARCH_TRAINS, BOOK_TRAIN),
    }  # fmt: skip
    return TaskInput(**{**values, **changes})


def menu_task() -> TaskInput:
    return train_task(
        "Suggest what to cook this week.", task_id="task2", domain="dining", scenario="Plan the meals",
        action_kind=ActionKind.GENERATE, tools=(),
    )  # fmt: skip


class TrainDesk:
    """A tool world. ``sold`` are the accepted bookings."""

    def __init__(self) -> None:
        self.sold: list[JSON] = []

    def __call__(self, name: str, arguments: JSON) -> ToolResult:
        if name == "search_trains":
            found = [train for train in TRAINS if train["city"].lower() == str(arguments.get("city", "")).lower()]
            return ToolResult(True, {"items": found})
        if name != "book_train" or arguments.get("train_id") not in {train["id"] for train in TRAINS}:
            return ToolResult(False, {"error": f"no such train: {arguments.get('train_id')}"})
        self.sold.append(arguments)
        return ToolResult(True, {"confirmation": "B-1"}, accepted=True)


@lru_cache(maxsize=5000)
def _vector(text: str) -> np.ndarray:
    """A hashed bag of stems: cheap, the same everywhere."""
    vector = np.full(256, 0.01, np.float32)
    for stem in Stemmer.Stemmer("english").stemWords(re.findall(r"\w{3,}", text.lower())):
        vector[int.from_bytes(hashlib.sha256(stem.encode()).digest()[:4], "big") % 256] += 1.0
    return vector / np.linalg.norm(vector)


def search_over(events: Sequence[Evidence]) -> Callable[..., tuple[Evidence, ...]]:
    """A search by the same bag of stems, over these events."""

    def search(query: str, **options: Unpack[SearchOptions]) -> tuple[Evidence, ...]:
        k, since, until = options.get("k", 10), options.get("since"), options.get("until")
        inside = [
            e for e in events if (since is None or e.occurred_at >= since) and (until is None or e.occurred_at <= until)
        ]
        if not query:
            return tuple(sorted(inside, key=lambda event: event.occurred_at, reverse=True)[:k])
        wanted = _vector(query)
        scored = [replace(event, score=10 * float(_vector(event.text) @ wanted)) for event in inside]
        return tuple(sorted(scored, key=lambda event: (-event.score, event.event_id))[:k])

    return search
