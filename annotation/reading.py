"""Readers' audit on the site: who reads which item next, drafts, and the step that turns them into answers."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from datetime import datetime, timedelta
from typing import Any, TypedDict

from django.db import transaction
from django.db.models import Count, Exists, F, OuterRef, Q, QuerySet

from annotation.models import Assignment, Reading, ReadingItem, Seat
from bench.audit.answers import LONGEST_COMMENT, read_answers, store_answers
from bench.audit.quiz import make_quiz
from bench.audit.shapes import REMARKS, Item
from bench.models import AuditQuestion, Dataset, ReaderKind, Run

HELD = timedelta(hours=2)  # so long an item that somebody began is kept for them


class Picked(TypedDict):
    """One question as it stands on a reader's page."""

    option: str
    remark: list[str]
    comment: str


Draft = Mapping[str, Picked]  # by the question's id


class OpenQuestions(Exception):
    """Questions without a pick and without a remark; ``positions`` numbers them from 1."""

    def __init__(self, positions: Sequence[int]) -> None:
        numbers = ", ".join(map(str, positions))
        super().__init__(f"Not submitted: pick an option in question {numbers}, or tick why none can be picked.")
        self.positions = tuple(positions)


class NothingToRead(ValueError):
    """Nothing of what was asked for is left that no earlier reading holds."""


@dataclass(frozen=True, slots=True)
class ReadingProgress:
    """``answered`` of ``wanted`` readings of an item are in."""

    reading: Reading
    items: int
    answered: int
    wanted: int


@transaction.atomic
def create_reading(
    *, dataset: Dataset, modes: Sequence[str], size: int, seed: int, readers_wanted: int, created_by: Any,
    run: Run | None = None,
) -> Reading:  # fmt: skip
    """``size`` items a mode at most; no task of an earlier reading of this version, and no cue.

    Raises ValueError as ``make_quiz`` does, and NothingToRead.
    """
    earlier = ReadingItem.objects.filter(reading__dataset=dataset)
    asked = [q["id"] for content in earlier.values_list("content", flat=True) for q in content["questions"]]
    items = make_quiz(dataset, modes, size=size, seed=seed, run=run.pk if run else None, apart_from=asked)
    known = set(earlier.values_list("public_id", flat=True))
    fresh = [item for item in items if item.id not in known]
    if not fresh:
        raise NothingToRead(f"Every item of this draw is in a reading of {dataset} already; choose another seed.")
    reading = Reading.objects.create(
        dataset=dataset, modes=",".join(modes), run=run, readers_wanted=readers_wanted, created_by=created_by
    )
    tasks = _tasks(fresh)
    ReadingItem.objects.bulk_create(
        ReadingItem(reading=reading, public_id=item.id, content=asdict(item), task_id=tasks[item.questions[0].id])
        for item in fresh
    )
    return reading


def _tasks(items: Sequence[Item]) -> dict[str, int | None]:
    """Question -> the task that it is about."""
    asked = AuditQuestion.objects.filter(public_id__in=[item.questions[0].id for item in items])
    return dict(asked.values_list("public_id", "checkpoint__task_id"))


def open_items(*, reader_id: int, now: datetime) -> QuerySet[Any]:
    """Items that this reader may take, the least read first.

    None whose task the reader has graded, since the gold events stood beside it. An item that others have begun counts
    as theirs for ``HELD``.
    """
    taken = Q(seats__answered_at__isnull=False) | Q(seats__begun_at__gt=now - HELD)
    own = Seat.objects.filter(item=OuterRef("pk"), reader_id=reader_id)
    seen = Assignment.objects.filter(trajectory__unit__task_id=OuterRef("task_id"), rater_id=reader_id)
    counted: QuerySet[Any] = ReadingItem.objects.annotate(
        held=Count("seats", filter=taken & ~Q(seats__reader_id=reader_id))
    )
    left = counted.filter(~Exists(own.filter(answered_at__isnull=False)), ~Exists(seen))
    return left.filter(held__lt=F("reading__readers_wanted")).order_by("held", "reading_id", "public_id")


def begun_item(*, reader_id: int) -> Seat | None:
    """The youngest that the reader has begun and not submitted."""
    return Seat.objects.filter(reader_id=reader_id, answered_at__isnull=True).order_by("-begun_at").first()


def next_seat(*, reader_id: int, now: datetime) -> Seat | None:
    """What the reader has begun, else the next item; None where nothing is left.

    Two who ask at one moment may both get the last place of an item: one reading more than wanted does no harm.
    """
    begun = begun_item(reader_id=reader_id)
    if begun is not None:
        return begun
    item = open_items(reader_id=reader_id, now=now).first()
    return None if item is None else Seat.objects.get_or_create(item=item, reader_id=reader_id)[0]


def save_draft(seat: Seat, draft: Draft, now: datetime) -> bool:
    """Keeps what stands on the page, whole or not; False where the item is submitted. Raises ValueError."""
    _check(draft)
    return bool(Seat.objects.filter(pk=seat.pk, answered_at__isnull=True).update(draft=draft, saved_at=now))


def _check(draft: Draft) -> None:
    for number, picked in enumerate(draft.values(), 1):
        if len(picked["comment"]) > LONGEST_COMMENT:
            length = len(picked["comment"])
            raise ValueError(f"The comment on question {number} has {length} characters; {LONGEST_COMMENT} at most.")


@transaction.atomic
def answer(seat: Seat, draft: Draft, now: datetime) -> bool:
    """Stores the answers as a person's; False where this reader has submitted the item before.

    Raises OpenQuestions, and ValueError for what the quiz does not know.
    """
    locked = Seat.objects.select_for_update().select_related("item__reading__dataset", "reader").get(pk=seat.pk)
    if locked.answered_at is not None:
        return False
    _check(draft)
    questions = [question["id"] for question in locked.item.content["questions"]]
    missing = [n for n, key in enumerate(questions, 1) if not (draft[key]["option"] or draft[key]["remark"])]
    if missing:
        raise OpenQuestions(missing)
    given = read_answers([{"id": key, **draft[key]} for key in questions])
    reader = locked.reader.get_username()
    store_answers(locked.item.reading.dataset.name, given, reader=reader, kind=ReaderKind.HUMAN)
    Seat.objects.filter(pk=locked.pk).update(draft=draft, saved_at=now, answered_at=now)
    return True


def draft_of(item: ReadingItem, posted: Mapping[str, Sequence[str]]) -> dict[str, Picked]:
    """What a page's fields say of each question of the item; unknown remarks are dropped."""
    return {
        question["id"]: Picked(
            option=_first(posted, f"pick-{question['id']}"),
            remark=[name for name in posted.get(f"remark-{question['id']}", ()) if name in REMARKS],
            comment=_first(posted, f"comment-{question['id']}").replace("\r\n", "\n").replace("\x00", ""),
        )
        for question in item.content["questions"]
    }


def _first(posted: Mapping[str, Sequence[str]], name: str) -> str:
    return next(iter(posted.get(name, ())), "")


def reading_progress() -> list[ReadingProgress]:
    """Every reading, the newest first, with how far it is. One query."""
    answered = Count("items__seats", filter=Q(items__seats__answered_at__isnull=False), distinct=True)
    rows: QuerySet[Any] = Reading.objects.select_related("dataset").annotate(
        size=Count("items", distinct=True), answered=answered
    )
    return [ReadingProgress(row, row.size, row.answered, row.size * row.readers_wanted) for row in rows]
