"""What a model call or a search can end in."""

from __future__ import annotations

from agents.contract.types import Termination


class LLMError(Exception):
    """Base of what a model call can end in; ``termination`` is how a trajectory ends if nobody handles it."""

    termination = Termination.MODEL_ERROR


class ModelUnavailable(LLMError):
    """The endpoint refused, timed out or failed for longer than the retries last."""


class SearchUnavailable(LLMError):
    """The history cannot be searched: database, embeddings or index fail. Never the agent's fault."""


class AuthenticationFailed(LLMError):
    """The key is missing or wrong. Never retried."""


class ContextOverflow(LLMError):
    """The prompt is longer than the model's context. Never retried as it is."""

    termination = Termination.CONTEXT_OVERFLOW


class BadReply(LLMError):
    """Empty, cut off or not what the schema asks, after the bounded repair. ``raw`` is the last text."""

    termination = Termination.BAD_OUTPUT

    def __init__(self, message: str, raw: str = "") -> None:
        super().__init__(message)
        self.raw = raw


class BudgetExceeded(LLMError):
    termination = Termination.BUDGET


class CallLimitReached(LLMError):
    termination = Termination.CALL_LIMIT


class DeadlinePassed(LLMError):
    termination = Termination.DEADLINE


class Cancelled(LLMError):
    termination = Termination.CANCELLED
