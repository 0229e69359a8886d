"""Hostile text made harmless before it enters a prompt: it stays readable and can forge no structure."""

from __future__ import annotations

import re
import unicodedata

_LINE_BREAKS = re.compile("\r\n|[\r\x0b\x0c\x1c-\x1e\x85\u2028\u2029]")
# letters that look like nothing, though Unicode does not class them as format characters
_BLANK_LETTERS = frozenset("\u034f\u115f\u1160\u17b4\u17b5\u3164\uffa0")
_UNUSUAL = re.compile(  # what is left out here always shows, and is all that most texts hold
    "[^\n -~\u00a0-\u00ac\u00ae-\u0233\u2010-\u2027\u2030-\u205e\u20a0-\u20bf]"
)
# a heading, a rule, a fence, an id as in a list of checkpoints, a role as in a chat log
_STRUCTURE = re.compile(
    r"^(?P<indent>[\s>*|]*)(?P<mark>#|={3,}|-{3,}|`{3,}|~{3,}|\[[a-z]\d+\]|"
    r"(?:system|developer|assistant|user|judge|human)\s*:)",
    re.IGNORECASE,
)
_ANGLES = str.maketrans({"<": "\u2039", ">": "\u203a"})
_BRACKETS = re.compile(r"<{2,}|>{2,}|<\||\|>|<(?=/?\s*(?:candidate|end|system|s|inst)\b)", re.IGNORECASE)


def block(text: str) -> str:
    """Text of several lines: no control or invisible characters, no headings, delimiters or role marks.

    A structural mark at the start of a line gets a backslash before it;
    double angle brackets and chat-template brackets become single quotes of
    the same look. Applying it twice gives the same as once.
    """
    return "\n".join(_line(part) for part in _visible(text).split("\n")).strip("\n")


def one_line(text: str) -> str:
    """The same for text that must stay on one line: all white space becomes single spaces."""
    return _line(" ".join(_visible(text).split()))


def _visible(text: str) -> str:
    """Line breaks made alike; what shows nothing, hides or reorders text is removed."""
    text = _LINE_BREAKS.sub("\n", text).replace("\t", " ")
    if _UNUSUAL.search(text):
        text = "".join(char for char in text if char == "\n" or not _invisible(char))
    return unicodedata.normalize("NFKC", text)


def _invisible(char: str) -> bool:
    return (
        unicodedata.category(char) in ("Cc", "Cf", "Cs", "Co", "Cn")
        or char in _BLANK_LETTERS
        or ("\ufe00" <= char <= "\ufe0f" or "\U000e0100" <= char <= "\U000e01ef")
    )


def _line(line: str) -> str:
    line = _BRACKETS.sub(lambda found: found[0].translate(_ANGLES), line)
    return _STRUCTURE.sub(r"\g<indent>\\\g<mark>", line)
