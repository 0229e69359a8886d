"""What a quiz consists of, as its reader sees it, and what a reader may say."""

from __future__ import annotations

from dataclasses import dataclass

REMARKS = {
    "two": "Two are defensible",
    "unsettled": "Not settled",
    "irrelevant": "Does not matter for this request",
    "telling": "Gives itself away",
    "contradiction": "Contradicts this life",
}
INSTRUCTIONS = (
    "Each item is about one person. Read it by itself, without what other items showed.",
    "An item shows records of that person's life, oldest first, or none. A request is made by the person at the moment "
    "that stands with it.",
    "For each question pick the option that holds for this person, for this request at this moment where there is one. "
    "Pick also where you must guess.",
    "Leave the option empty only where no pick makes sense, and then give a remark that says why.",
    "Use nothing but this file. Answer with a JSON list, one object a question: "
    '{"id": "<id of the question>", "option": "<id of the option, or empty>", "remark": "<optional: id of a remark, or '
    'a list of them>", "comment": "<optional: free text>"}.',
)


@dataclass(frozen=True, slots=True)
class SeenEvent:
    when: str
    channel: str
    text: str


@dataclass(frozen=True, slots=True)
class Option:
    id: str
    text: str


@dataclass(frozen=True, slots=True)
class Question:
    id: str
    text: str
    options: tuple[Option, ...]


@dataclass(frozen=True, slots=True)
class Item:
    """``request`` and ``moment`` are empty where a single event is read by itself."""

    id: str
    request: str
    moment: str
    events: tuple[SeenEvent, ...]
    questions: tuple[Question, ...]
