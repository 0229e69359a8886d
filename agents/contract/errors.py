"""What a model call or a search can end in."""

from __future__ import annotations

from datetime import UTC, datetime

from agents.contract.types import Termination, UnusableReply, Usage


class LLMError(Exception):
    """Base of what a model call can end in; ``termination`` is how a trajectory ends if nobody handles it.

    ``replies``: those that came before it and could not be used; ``usage``: of the calls behind them.
    """

    termination = Termination.MODEL_ERROR
    usage = Usage()
    replies: tuple[UnusableReply, ...] = ()


class ModelUnavailable(LLMError):
    """The endpoint refused, timed out or failed for longer than the retries last."""


class Outage(LLMError):
    """Something that work on a unit needs is away, so the work waits. Never an ending, never a verdict.

    ``away`` names it for people and is the same at every failure: "Redis", "endpoint 'qwen'".
    """

    def __init__(self, away: str, message: str) -> None:
        super().__init__(message)
        self.away = away
        self.since = datetime.now(UTC)


class ServiceAway(Outage):
    """A service of the benchmark's own does not answer: Redis, PostgreSQL, embeddings."""


class EndpointAway(Outage, ModelUnavailable):
    """A model's endpoint failed for longer than the retries last, or lets nobody in."""

    def __init__(self, endpoint: str, message: str) -> None:
        super().__init__(endpoint_label(endpoint), message)
        self.endpoint = endpoint


class EndpointBusy(EndpointAway):
    """Others held all places at the endpoint for as long as the work could wait."""


class AuthenticationFailed(EndpointAway):
    """The key is missing or wrong. Never retried by itself."""


def endpoint_label(name: str) -> str:
    """How an outage of the endpoint is called."""
    return f"endpoint {name!r}"


class SearchUnavailable(LLMError):
    """The history cannot be searched: its index is incomplete, or refuses the query. Never the agent's fault."""


class ContextOverflow(LLMError):
    """The prompt is longer than the model's context. Never retried as it is."""

    termination = Termination.CONTEXT_OVERFLOW


class BadReply(LLMError):
    """Empty, cut off or not what the schema asks, after the bounded repair."""

    termination = Termination.BAD_OUTPUT

    @property
    def text(self) -> str:
        """The last reply, without its reasoning."""
        return self.replies[-1].text if self.replies else ""


class BudgetExceeded(LLMError):
    termination = Termination.BUDGET


class CallLimitReached(LLMError):
    termination = Termination.CALL_LIMIT


class DeadlinePassed(LLMError):
    termination = Termination.DEADLINE


class Cancelled(LLMError):
    termination = Termination.CANCELLED
