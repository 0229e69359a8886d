"""What somebody can point at in a trajectory: "argument:party", "sentence:2", "call:1:item:price", "event:17"."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum


class PartKind(StrEnum):
    REQUEST = "request"
    LOOKUP = "lookup"
    CALL = "call"
    ARGUMENT = "argument"
    ITEM = "item"
    SENTENCE = "sentence"
    EVENT = "event"


@dataclass(frozen=True, slots=True)
class Part:
    """``str`` gives the name that is stored and ``Part.named`` reads it.

    ``key`` is an argument's or field's name, a number counted from 1, or an event's id; "" for the request.
    ``call`` is set for arguments and items of an earlier call than the last of its tool, which is the one that counts.
    """

    kind: PartKind
    key: str = ""
    call: int | None = None

    def __str__(self) -> str:
        own = f"{self.kind}:{self.key}" if self.key else str(self.kind)
        return own if self.call is None else f"{PartKind.CALL}:{self.call}:{own}"

    @classmethod
    def named(cls, name: str) -> Part:
        """The inverse of ``str``. Raises ValueError for a name that no part has."""
        kind, _, key = name.partition(":")
        number, inner, rest = key.partition(":")
        if kind == PartKind.CALL and inner and number.isdigit():
            part = cls.named(rest)
            return cls(part.kind, part.key, int(number))
        if kind not in set(PartKind):
            allowed = ", ".join(PartKind)
            raise ValueError(f"{name!r} names no part of a trajectory; a name begins with one of {allowed}")
        return cls(PartKind(kind), key)

    @classmethod
    def argument(cls, name: str) -> Part:
        return cls(PartKind.ARGUMENT, name)

    @classmethod
    def sentence(cls, number: int) -> Part:
        """``number`` counts from 1, as ``agents.toolkit.sentences`` splits the text."""
        return cls(PartKind.SENTENCE, str(number))
