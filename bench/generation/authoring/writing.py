"""All histories of a dataset written by a model: what it will cost, many lives at once, and what was turned down."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from itertools import chain
from typing import Any

from django.db import connections

from agents.contract import JSON, LLM, BudgetExceeded, Limits, Message, Reply, Usage
from agents.model.client import OpenAILLM
from agents.model.endpoints import Endpoint
from agents.model.limits import LocalLimiter
from bench.catalogue import Catalogue
from bench.generation.authoring import roles
from bench.generation.authoring.year import SHOWING, STATES, Rejected, Year, is_of_a_service, write_year
from bench.generation.spec import EventSpec, PersonaSpec
from bench.generation.validity.recognise import Recogniser, recogniser
from bench.runs.calls import DatabaseStore

CHARACTERS_A_TOKEN = 4
REPLY = 40  # tokens of a critic's verdict or an assistant's answer


@dataclass(frozen=True)
class Estimate:
    """What writing costs where nothing is turned down. Each text that is turned down costs two calls more at most."""

    calls: int
    tokens_in: int
    tokens_out: int
    cost_usd: float

    def __str__(self) -> str:
        return (
            f"about {self.calls} calls, {self.tokens_in} tokens in, {self.tokens_out} out, {self.cost_usd:.2f} USD; "
            "each text that is turned down costs up to two calls more"
        )


@dataclass(frozen=True)
class Written:
    """Histories in a model's words, and how they came about."""

    personas: list[PersonaSpec]
    rejected: list[Rejected]
    report: JSON  # model, simulated, written, kept, rejected by reason's first words, calls, tokens, cost


class _Purse:
    """An LLM that refuses a call once the budget is spent. What was bought is kept and costs nothing a second time."""

    def __init__(self, llm: OpenAILLM, budget_usd: float | None) -> None:
        self._llm, self._budget = llm, budget_usd

    @property
    def usage(self) -> Usage:
        return self._llm.usage

    def complete(self, messages: Sequence[Message], **options: Any) -> Reply:
        spent = self._llm.usage.cost_usd
        if self._budget is not None and spent >= self._budget:
            raise BudgetExceeded(
                f"the texts have cost {spent:.2f} of {self._budget:.2f} USD; what was bought is kept: the same command "
                "with a larger --budget-usd goes on where this one stopped"
            )
        return self._llm.complete(messages, **options)


def estimate(personas: Sequence[PersonaSpec], catalogue: Catalogue, endpoint: Endpoint) -> Estimate:
    """Counts the prompts of a first draft of everything."""
    known = recogniser(catalogue)
    prompts = list(chain.from_iterable(_prompts(persona, catalogue, known) for persona in personas))
    sent = sum(len(message["content"]) for messages, _ in prompts for message in messages) // CHARACTERS_A_TOKEN
    said = sum(reply for _, reply in prompts)
    price = sent * endpoint.price_in_per_mtok_usd + said * endpoint.price_out_per_mtok_usd
    return Estimate(len(prompts), sent, said, price / 1_000_000)


def _prompts(persona: PersonaSpec, catalogue: Catalogue, known: Recogniser) -> list[tuple[list[Message], int]]:
    """Every prompt of a life, each with the tokens of its reply."""
    found = [(roles.director_prompt(persona), roles.REPLY_TOKENS)]
    questions = [catalogue.dimension(trait.dimension).question for trait in persona.traits]
    for event in persona.events:
        if is_of_a_service(known, event):
            continue
        kind = "noise" if event.role == "everyday" else "writer"
        length = len(event.text) // CHARACTERS_A_TOKEN + 1
        found.append((roles.writer_prompt(kind, persona.person, event, "", ()), length))
        found.append((_critic(persona, event, catalogue, questions), REPLY))
        if event.channel == "message":
            found.append((roles.answer_prompt(event.text), REPLY))
    return found


def _critic(persona: PersonaSpec, event: EventSpec, catalogue: Catalogue, questions: Sequence[str]) -> list[Message]:
    if event.role in STATES:
        return roles.state_prompt(persona.person, event, event.text)
    if event.role in SHOWING or event.role == "distractor":
        return roles.critic_prompt(persona.person, event, event.text, catalogue.dimension(event.dimension))
    return roles.noise_prompt(persona.person, event, event.text, questions)


def write(
    personas: Sequence[PersonaSpec], catalogue: Catalogue, endpoint: Endpoint, *, budget_usd: float | None,
    say: Callable[[str], None],
) -> Written:  # fmt: skip
    """Many lives at once, as many as the endpoint takes. Killed at any moment, the next call buys nothing twice."""
    limits = Limits(model_calls=10**9, max_tokens=roles.REPLY_TOKENS, deadline_s=30 * 24 * 3600)
    store = DatabaseStore(run_id=None, unit_id=None, endpoint=endpoint.slug)
    limiter = LocalLimiter()
    purse = _Purse(OpenAILLM(endpoint, store=store, limiter=limiter, repeat=0, limits=limits), budget_usd)
    known = recogniser(catalogue)
    years: list[Year] = []
    pool = ThreadPoolExecutor(max(1, min(endpoint.max_in_flight, len(personas))))
    try:
        for year in pool.map(lambda persona: _one(persona, catalogue, known, purse), personas):
            years.append(year)
            say(f"wrote {len(years)} of {len(personas)} histories, {len(year.rejected)} texts of the last turned down")
    finally:
        pool.shutdown(cancel_futures=True)  # after a fault nothing more is bought
    rejected = [one for year in years for one in year.rejected]
    used = purse.usage
    report: JSON = {
        "model": endpoint.name,
        "simulated": endpoint.simulated,
        "written": sum(year.written for year in years),
        "kept": sum(year.kept for year in years),
        "rejected": dict(sorted(Counter(_kind(one.reason) for one in rejected).items())),
        "calls": used.calls,
        "tokens_in": used.tokens_in,
        "tokens_out": used.tokens_out,
        "cost_usd": round(used.cost_usd, 4),
    }
    return Written([year.persona for year in years], rejected, report)


def _one(persona: PersonaSpec, catalogue: Catalogue, known: Recogniser, llm: LLM) -> Year:
    try:
        return write_year(persona, catalogue, known, llm)
    finally:
        connections.close_all()  # of this thread


def _kind(reason: str) -> str:
    """A reason without its particulars."""
    kinds: Mapping[str, str] = {
        "a blind reader": "read otherwise",
        "it says outright": "says it outright",
        "it uses words": "names the value",
        "it contradicts": "contradicts the facts",
        "it leaves out": "leaves figures out",
        "it has": "length",
        "it is empty": "length",
        "the same text": "repeated",
    }
    return next((kind for start, kind in kinds.items() if reason.startswith(start)), "unusable reply")
