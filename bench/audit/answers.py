"""Readers' answers: checked as a whole, then stored, or nothing is."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass

from django.db import IntegrityError, transaction

from bench.audit.shapes import REMARKS
from bench.models import AuditAnswer, AuditQuestion, Dataset, ReaderKind

FIELDS = {"id", "option", "remark", "comment"}
LONGEST_NAME, LONGEST_COMMENT = 80, 4000
_BY_WORDS = {words.lower(): name for name, words in REMARKS.items()}


@dataclass(frozen=True, slots=True)
class Given:
    """One answer of a file. ``option`` is "" where the reader picked none."""

    id: str
    option: str
    remarks: tuple[str, ...]
    comment: str


def read_answers(content: object) -> list[Given]:
    """Of a parsed file, its shape checked. Raises ValueError naming the entry."""
    if not isinstance(content, list) or not content:
        raise ValueError("the answers are a JSON list of {id, option, remark, comment}, with one entry or more")
    found = [_given(f"entry {number}", entry) for number, entry in enumerate(content, 1)]
    twice = [name for name, n in Counter(given.id for given in found).items() if n > 1]
    if twice:
        raise ValueError(f"question {twice[0]!r} is answered twice in this file; keep one answer")
    return found


def _given(place: str, entry: object) -> Given:
    if not isinstance(entry, dict):
        raise ValueError(f"{place} is {entry!r}; it is an object with id and option")
    if unknown := sorted(map(str, entry.keys() - FIELDS)):
        raise ValueError(f"{place} has {unknown[0]!r}; known are id, option, remark, comment")
    name, option, comment = (_text(place, key, entry.get(key)) for key in ("id", "option", "comment"))
    if len(comment) > LONGEST_COMMENT:
        raise ValueError(f"{place}: comment has {len(comment)} characters; {LONGEST_COMMENT} at most")
    remarks = _remarks(place, entry.get("remark"))
    if not option and not remarks:
        raise ValueError(f"{place} ({name}) picks no option; say why in remark: {', '.join(REMARKS)}")
    return Given(name, option, remarks, comment)


def _text(place: str, key: str, value: object) -> str:
    if value is None:
        return ""
    if not isinstance(value, str) or "\x00" in value:
        raise ValueError(f"{place}: {key} is {value!r}; it is a text")
    return value.strip()


def _remarks(place: str, value: object) -> tuple[str, ...]:
    """Ids, also where the words of a remark stand."""
    names = value if isinstance(value, list) else [value]
    found = []
    for name in filter(None, (_text(place, "remark", name) for name in names)):
        known = name if name in REMARKS else _BY_WORDS.get(name.lower())
        if known is None:
            raise ValueError(f"{place}: remark {name!r} is unknown; use {', '.join(REMARKS)}")
        found.append(known)
    return tuple(dict.fromkeys(found))


def store_answers(name: str, answers: list[Given], *, reader: str, kind: str) -> tuple[Dataset, list[str]]:
    """All or none; returns the version that they are about, and their modes. ``name`` is the dataset's.

    Raises ValueError for what does not fit, also where the reader has answered one of the questions before.
    """
    reader = reader.strip()
    if not 0 < len(reader) <= LONGEST_NAME:
        raise ValueError(f"--reader {reader!r}: a name of 1 to {LONGEST_NAME} characters")
    if kind not in ReaderKind.values:
        raise ValueError(f"--kind {kind!r}: it is {' or '.join(ReaderKind.values)}")
    asked = AuditQuestion.objects.filter(public_id__in=[given.id for given in answers]).select_related("dataset")
    questions = {question.public_id: question for question in asked if question.dataset.name == name}
    rows = [_row(given, questions, name) for given in answers]
    if len(versions := {question.dataset for question in questions.values()}) > 1:
        raise ValueError(f"the answers are about {' and '.join(sorted(map(str, versions)))}; give one file a version")
    known = AuditAnswer.objects.filter(question__in=questions.values(), reader=reader)
    if before := known.values_list("question__public_id", flat=True).first():
        raise ValueError(f"reader {reader!r} has answered question {before!r} before; answers are never replaced")
    other = AuditAnswer.objects.filter(question__dataset__in=versions, reader=reader).exclude(kind=kind).first()
    if other:
        raise ValueError(f"reader {reader!r} is {other.kind} in earlier answers, not {kind}; give another name")
    for row in rows:
        row.reader, row.kind = reader, kind
    try:
        with transaction.atomic():
            AuditAnswer.objects.bulk_create(rows)
    except IntegrityError as error:
        raise ValueError(f"reader {reader!r} has answered one of these questions at the same time") from error
    return versions.pop(), sorted({question.mode for question in questions.values()})


def _row(given: Given, questions: dict[str, AuditQuestion], name: str) -> AuditAnswer:
    question = questions.get(given.id)
    if question is None:
        raise ValueError(f"question {given.id!r} stands in no quiz of {name!r} in this database")
    values: dict[str, str] = dict(question.options)
    if given.option and given.option not in values:
        raise ValueError(f"question {given.id!r} has no option {given.option!r}; it has {', '.join(values)}")
    value = values.get(given.option, "")
    return AuditAnswer(question=question, value=value, remarks=list(given.remarks), comment=given.comment)
