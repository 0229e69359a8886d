"""How a text is worded for a person: as it was authored, or put into the person's voice by a model."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from string import Template

from agents.contract import BadReply, Limits, Stage
from agents.model.client import OpenAILLM
from agents.model.limits import LocalLimiter
from bench.catalogue import Person
from bench.catalogue.words import similarity
from bench.runs.calls import DatabaseStore
from bench.runs.endpoints import resolve_endpoint

Author = Callable[[str, Person], str]
AUTHORS = ("procedural", "llm")

_PROMPT = Path(__file__).parent / "prompts" / "reword.md"
LEAST_KEPT = 0.15  # overlap of word stems below which a rewording has lost its text
LONGEST = 2.5  # times the authored length


def author_of(name: str, model: str) -> Author:
    """Raises ValueError for a name that is not in AUTHORS."""
    if name == "procedural":
        return procedural_author
    if name == "llm":
        return _ModelAuthor(model)
    raise ValueError(f"unknown author {name!r}; allowed: {', '.join(AUTHORS)}")


def procedural_author(text: str, person: Person) -> str:
    """The authored text, unchanged."""
    return text


class _ModelAuthor:
    """Rewords through a model. What comes back empty, too long or off the text is dropped for the authored text."""

    def __init__(self, model: str) -> None:
        endpoint = resolve_endpoint(model)
        limits = Limits(model_calls=10**6, max_tokens=300, deadline_s=24 * 3600)
        store = DatabaseStore(run_id=None, unit_id=None, endpoint=endpoint.slug)
        self._llm = OpenAILLM(endpoint, store=store, limiter=LocalLimiter(), repeat=0, limits=limits)

    def __call__(self, text: str, person: Person) -> str:
        content = Template(_PROMPT.read_text(encoding="utf-8")).substitute(
            text=text, age=person.age, job=person.job, habits="; ".join(person.habits), language=person.first_language
        )
        try:
            reply = self._llm.complete([{"role": "user", "content": content}], stage=Stage.AUTHOR, max_tokens=300)
        except BadReply:
            return text
        reworded = reply.text.strip().strip('"')
        kept = similarity(text, reworded) >= LEAST_KEPT and 0 < len(reworded) <= LONGEST * len(text)
        return reworded if kept else text
