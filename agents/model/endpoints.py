"""A registered model endpoint, what one call to it cost, and where bought calls are kept."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Literal, Protocol
from urllib.parse import urlsplit

from agents.contract import JSON, Usage

SchemaMode = Literal["auto", "json_schema", "tool", "prompt"]


@dataclass(frozen=True, slots=True)
class Endpoint:
    """One model behind an OpenAI-compatible ``base_url`` (which ends in ``/v1`` for most servers).

    A rate of 0 means no limit. Prices are USD per million tokens. ``reasoning``
    models get ``max_completion_tokens`` and no temperature. The key is left out
    of ``repr`` and must not be put into messages.
    """

    slug: str
    base_url: str
    model: str
    api_key: str = field(default="", repr=False)
    family: str = ""  # judges must come from another family than the agent
    context_tokens: int = 32_768
    price_in_per_mtok_usd: float = 0.0
    price_out_per_mtok_usd: float = 0.0
    max_in_flight: int = 8
    requests_per_minute: int = 0
    tokens_per_minute: int = 0
    timeout_s: float = 120.0
    simulated: bool = False  # True for the simulated reader
    reasoning: bool = False
    system_role: bool = True  # False: the model takes no system message; its text heads the user's first
    schema_mode: SchemaMode = "auto"

    def __post_init__(self) -> None:
        parts = urlsplit(self.base_url)
        if parts.scheme not in ("http", "https") or not parts.hostname:
            raise ValueError(f"endpoint {self.slug!r}: base_url must be http(s)://host..., got {parts.scheme!r}")
        if self.max_in_flight < 1:
            raise ValueError(f"endpoint {self.slug!r}: max_in_flight must be at least 1, got {self.max_in_flight}")
        if not (self.api_key.isascii() and self.api_key.isprintable()):
            raise ValueError(f"endpoint {self.slug!r}: the API key holds characters that no header can carry")

    @property
    def name(self) -> str:
        """By which it was asked for: settings of a simulated model are part of its name."""
        return self.model if self.simulated else self.slug

    @property
    def public_url(self) -> str:
        """The base URL without user, password and query: fit for messages."""
        parts = urlsplit(self.base_url)
        return f"{parts.scheme}://{parts.netloc.rpartition('@')[2]}{parts.path}"

    def redact(self, text: str) -> str:
        """``text`` with the key blotted out, for servers that echo it."""
        return text.replace(self.api_key, "[key]") if self.api_key else text


@dataclass(frozen=True, slots=True)
class StoredCall:
    """The answer to one bought call, as it is kept."""

    response: JSON
    usage: Usage
    latency_s: float
    stage: str


class CallStore(Protocol):
    """Where bought calls are kept, and who says whether more may be bought. Safe for threads."""

    def find(self, keys: Sequence[str]) -> Mapping[str, StoredCall]:
        """Those of the keys that are kept, with their calls.

        Raises BudgetExceeded where none is kept and the budget is used up: what was bought can be had without money.
        """

    def put(self, key: str, request: JSON, call: StoredCall) -> None:
        """Keeps a call, adds its price to the bill, and returns once both are durable. No request holds an API key."""


def call_key(endpoint: Endpoint, request: JSON, repeat: int) -> str:
    """sha256 (hex) over all that can change an answer. Repeats of a task have different keys."""
    identity = [endpoint.slug, endpoint.public_url, endpoint.model, request, repeat]
    return hashlib.sha256(json.dumps(identity, sort_keys=True, separators=(",", ":")).encode()).hexdigest()


def estimate_tokens(value: object) -> int:
    """About 4 characters a token, rounded up, over the JSON text of ``value`` (or over a string itself)."""
    text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
    return -(-len(text) // 4)


def cost_usd(endpoint: Endpoint, tokens_in: int, tokens_out: int) -> float:
    dollars_e6 = tokens_in * endpoint.price_in_per_mtok_usd + tokens_out * endpoint.price_out_per_mtok_usd
    return dollars_e6 / 1_000_000


MOST_TOKENS = 100_000_000  # of one call; more is a fault of the server


def _count(value: object) -> int | None:
    """A number of tokens from outside; None for what cannot be one."""
    return value if type(value) is int and 0 <= value <= MOST_TOKENS else None


def counted_tokens(response: JSON) -> tuple[int, int] | None:
    """Tokens in and out as the server counted them; None where it sent no counts, or none that can be."""
    counts = response.get("usage")
    if not isinstance(counts, dict):
        return None
    tokens_in, tokens_out = _count(counts.get("prompt_tokens")), _count(counts.get("completion_tokens"))
    return None if tokens_in is None or tokens_out is None else (tokens_in, tokens_out)


def measure_usage(endpoint: Endpoint, request: JSON, response: JSON) -> Usage:
    """The usage of one answered call: as the server counted it, else estimated and marked so."""
    counted = counted_tokens(response)
    if counted is not None:
        return Usage(1, *counted, cost_usd(endpoint, *counted))
    choices = response.get("choices")
    messages = [c.get("message") for c in choices if isinstance(c, dict)] if isinstance(choices, list) else []
    said = [[m.get("content"), m.get("tool_calls")] for m in messages if isinstance(m, dict)]
    tokens_in = estimate_tokens([request.get("messages"), request.get("tools")])
    tokens_out = sum(estimate_tokens(part) for pair in said for part in pair if part)
    return Usage(1, tokens_in, tokens_out, cost_usd(endpoint, tokens_in, tokens_out), estimated_calls=1)
