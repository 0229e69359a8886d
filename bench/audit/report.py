"""What readers made of a dataset: shares right by mode, tier and conflict, their agreement, and what is disputed."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import TypedDict

from bench.audit.shapes import REMARKS
from bench.models import AuditAnswer, AuditQuestion, Dataset
from bench.statistics.agreement import gwet_ac1
from bench.statistics.intervals import clustered_mean

# Modes in which all that gold rests on was shown, so that a reader who disagrees speaks about the checkpoint.
COMPLETE = frozenset({"cue", "gold", "full"})
UNDECIDABLE = frozenset({"two", "unsettled"})
FAULTS = ("irrelevant", "telling", "contradiction")
NO_PICK = "none"


class Share(TypedDict):
    """``n``: answers. ``chance``: the mean, over the answers, of one pick among the options shown."""

    right: float | None
    low: float | None
    high: float | None
    n: int
    questions: int
    chance: float | None


class Reader(TypedDict):
    name: str
    kind: str
    n: int
    right: float | None


class AgreementJson(TypedDict):
    """AC1 over the places of the options as shown; ``n``: questions with two answers or more."""

    ac1: float | None
    reason: str | None
    n: int


class Dispute(TypedDict):
    """Gold. ``id`` is the checkpoint's or, of a cue, the event's; ``said``: what readers picked, NAME -> value.

    ``retired``: no run is scored by the checkpoint any more.
    """

    about: str
    id: int
    persona: str
    text: str
    gold: str
    said: dict[str, str]
    reasons: list[str]
    retired: bool


class ModeReport(Share):
    mode: str
    by_tier: dict[str, Share]
    by_conflict: dict[str, Share]
    readers: list[Reader]
    agreement: AgreementJson
    disputed: list[Dispute]


@dataclass(frozen=True, slots=True)
class Answer:
    """One answer beside the gold value of its question."""

    question: AuditQuestion
    reader: str
    kind: str
    value: str
    remarks: tuple[str, ...]
    gold: str
    persona: int
    tier: str
    conflict: str

    @property
    def right(self) -> bool:
        return self.value == self.gold

    @property
    def place(self) -> str:
        """Of the pick among the options as shown."""
        return next((str(n) for n, (_, value) in enumerate(self.question.options) if value == self.value), NO_PICK)


def answers_of(dataset: Dataset) -> list[Answer]:
    """All that readers said about this version. One query."""
    related = ("question__checkpoint__task__persona", "question__event__label", "question__event__persona")
    rows = AuditAnswer.objects.filter(question__dataset=dataset).select_related(*related).order_by("pk")
    return [_answer(row) for row in rows]


def _answer(row: AuditAnswer) -> Answer:
    question = row.question
    about = (question, row.reader, row.kind, row.value, tuple(row.remarks))
    if checkpoint := question.checkpoint:
        persona = checkpoint.task.persona_id
        return Answer(*about, checkpoint.value, persona, checkpoint.tier or "direct", checkpoint.conflict or "none")
    if question.event is None:
        raise ValueError(f"question {question} is about nothing")
    return Answer(*about, question.event.label.value, question.event.persona_id, "", "")


def reports(answers: Sequence[Answer]) -> list[ModeReport]:
    """One a mode that readers have answered, in a fixed order."""
    return [report(mode, [a for a in answers if a.question.mode == mode]) for mode in _modes(answers)]


def _modes(answers: Iterable[Answer]) -> list[str]:
    order = ("cue", "gold", "full", "none")
    found = {answer.question.mode for answer in answers}
    return [*(mode for mode in order if mode in found), *sorted(found - set(order))]


def report(mode: str, answers: Sequence[Answer]) -> ModeReport:
    return ModeReport(
        mode=mode,
        **share(answers),
        by_tier=_by(answers, lambda answer: answer.tier),
        by_conflict=_by(answers, lambda answer: answer.conflict),
        readers=_readers(answers),
        agreement=agreement(answers),
        disputed=disputed(answers),
    )


def share(answers: Sequence[Answer]) -> Share:
    """Right answers with a 95% interval clustered by persona. An empty pick is not right."""
    measure = clustered_mean([float(answer.right) for answer in answers], [answer.persona for answer in answers])
    chances = [1 / len(answer.question.options) for answer in answers]
    return Share(
        right=measure.mean,
        low=measure.low,
        high=measure.high,
        n=measure.n,
        questions=len({answer.question.pk for answer in answers}),
        chance=sum(chances) / len(chances) if chances else None,
    )


def _by(answers: Iterable[Answer], kind: Callable[[Answer], str]) -> dict[str, Share]:
    found: dict[str, list[Answer]] = defaultdict(list)
    for answer in answers:
        if kind(answer):
            found[kind(answer)].append(answer)
    return {name: share(found[name]) for name in sorted(found)}


def _readers(answers: Iterable[Answer]) -> list[Reader]:
    found: dict[tuple[str, str], list[Answer]] = defaultdict(list)
    for answer in answers:
        found[answer.reader, answer.kind].append(answer)
    return [Reader(name=name, kind=kind, n=len(own), right=share(own)["right"]) for (name, kind), own in found.items()]


def agreement(answers: Sequence[Answer]) -> AgreementJson:
    """Places are shuffled, so chance stands at one pick among the options, whatever the questions are about."""
    questions = list(dict.fromkeys(answer.question.pk for answer in answers))
    picks = {(answer.reader, answer.question.pk): answer.place for answer in answers}
    readers = list(dict.fromkeys(answer.reader for answer in answers))
    if len(readers) < 2:
        return AgreementJson(ac1=None, reason="one reader only" if readers else "nobody has answered", n=0)
    found = gwet_ac1([[picks.get((reader, question)) for question in questions] for reader in readers])
    return AgreementJson(ac1=found.value, reason=found.reason, n=found.n)


def disputed(answers: Iterable[Answer]) -> list[Dispute]:
    """What two readers or more say against a checkpoint or a cue, over all modes given. Gold."""
    found: dict[tuple[str, int], list[Answer]] = defaultdict(list)
    for answer in answers:
        question = answer.question
        about = "checkpoint" if question.checkpoint_id else "event"
        found[about, question.checkpoint_id or question.event_id or 0].append(answer)
    listed = []
    for (about, pk), own in found.items():
        if reasons := _reasons(own):
            listed.append(_dispute(about, pk, own, reasons))
    return sorted(listed, key=lambda dispute: (dispute["about"], dispute["id"]))


def _reasons(answers: Sequence[Answer]) -> list[str]:
    picked: dict[str, set[str]] = defaultdict(set)
    undecided: set[str] = set()
    remarked: dict[str, set[str]] = defaultdict(set)
    for answer in answers:
        if answer.question.mode in COMPLETE:
            picked[answer.value].add(answer.reader)
            if UNDECIDABLE & set(answer.remarks):
                undecided.add(answer.reader)
        for remark in answer.remarks:
            remarked[remark].add(answer.reader)
    against = [
        f"{len(readers)} readers agree on {value}"
        for value, readers in picked.items()
        if value and value != answers[0].gold and len(readers) > 1
    ]
    open_to = [f"{len(undecided)} readers call it undecidable"] if len(undecided) > 1 else []
    faults = [f"{len(remarked[name])} readers: {REMARKS[name].lower()}" for name in FAULTS if len(remarked[name]) > 1]
    return [*against, *open_to, *faults]


def _dispute(about: str, pk: int, answers: Sequence[Answer], reasons: list[str]) -> Dispute:
    question = answers[0].question
    checkpoint, event = question.checkpoint, question.event
    persona = checkpoint.task.persona if checkpoint else event.persona if event else None
    return Dispute(
        about=about,
        id=pk,
        persona=persona.name if persona else "",
        text=checkpoint.text if checkpoint else event.text if event else "",
        gold=answers[0].gold,
        said={answer.reader: answer.value or NO_PICK for answer in answers},
        reasons=reasons,
        retired=bool(checkpoint and checkpoint.retired),
    )
