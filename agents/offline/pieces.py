"""A request cut into pieces: runs of content words, with the word that leads to each."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

from agents.dates import NUMBERS, WEEKDAYS, phrases

LONGEST = 4000  # characters of a request that are looked at

TIME = re.compile(r"\b(\d{1,2})(?::(\d{2}))?\s*(am|pm)\b|\b(\d{1,2}):(\d{2})\b", re.IGNORECASE)
_UNITS = (
    "people|persons?|adults?|children|child|kids?|guests?|heads?|passengers?|travell?ers?|euros?|eur|pounds?|dollars?|"
    "minutes?|mins?|hours?|hrs?|h|days?|nights?|weeks?|months?|years?|copies|copy|pieces?|pcs|times?|seats?|places?|"
    "kg|kilos?|grams?|g|mg|litres?|l|ml|cm|mm|m|metres?|km|miles?|percent"
)
_AMOUNT = r"\d+(?:[.,]\d+)*|" + "|".join(word for word in NUMBERS if " " not in word and word not in {"a", "an"})
MEASURE = re.compile(rf"(?<![\w-])(?:{_AMOUNT})[\s-]?(?:{_UNITS})\b(?:\(s\))?|[€£$]\s?\d+(?:[.,]\d+)*", re.IGNORECASE)
EMAIL = re.compile(r"[\w.+-]{1,64}@[\w-]+(?:\.[\w-]+)+")
_NUMBER = re.compile(rf"(?:{_AMOUNT})x?|(?:{'|'.join(WEEKDAYS)})s", re.IGNORECASE)
_WORD = re.compile(r"\w(?:[\w'’&/+-]*\w)?(?:\(s\))?")
NAME_PARTS = ("of", "de", "da", "do", "du", "la", "le", "van", "von", "der", "den", "am", "upon")  # "Gare du Nord"
_TITLES = frozenset({"mr", "mrs", "ms", "dr", "prof", "st"})

_SMALL_WORDS = (
    "about above across after again against along and around as at before behind below beside between beyond but by "
    "down during for from if in into inside near next off on onto or out over past per plus re regarding concerning "
    "round since so than then through till to towards under until up upon via when where which while who whom whose "
    "with within without because though although like of "
    "i i'd i'll i'm i've me myself you you'd you'll we we'd we'll we're we've us ourselves he he's she she's it it's "
    "they they're they've them him himself herself itself mine ours yours hers there there's here here's what what's "
    "who's that's let's ones "
    "am is isn't are aren't was wasn't were weren't be been being do does doesn't did didn't done don't doing has "
    "hasn't have haven't had having can can't could couldn't will won't would wouldn't shall should shouldn't may "
    "might must need needs needed needing want wants wanted wanting"
)
_ASKING_WORDS = (
    "add allow arrange arrive arriving ask asking block book booking bring brought buy call choose chosen come comes "
    "coming deliver eat enrol enter feel fetch find fix get gets getting give go goes going got grab hand hire keep "
    "keeps know learn learning leave let look looking make makes mean meant meet open order ordering pay paying pick "
    "plan play print put read reading reserve run say saying says see seeing seem seems send sent set sign sort start "
    "starting stay staying study studying take takes taking talk tell thank thanks think throw travelling try use "
    "using visit visiting wait work write written"
)
_FILLING_WORDS = (
    "please pls all almost already also altogether always anyway anything anybody anyone anywhere away back both dealt "
    "dear each either else enough ever every everyone everybody everything finally first hello hey hi how however "
    "incl including instead just last least less lot lots many max maximum maybe more most much neither never nobody "
    "not nothing now ok okay only other others perhaps quite rather ready really right same several somebody someone "
    "something somewhere still such sure together too tops very well whatever whichever whoever why yes yet"
)
BREAKS = frozenset(f"{_SMALL_WORDS} {_ASKING_WORDS} {_FILLING_WORDS}".split())  # name nothing: they end a piece
_DETERMINERS = "a an the my our your his her its their some any this that these those another no"
DETERMINERS = frozenset(_DETERMINERS.split())
_NOUNS_TOO = frozenset({"back", "book", "call", "do", "order", "plan", "play", "study", "talk", "visit", "work"})
_ADJECTIVES_TOO = frozenset({"back", "first", "hand", "last", "open"})


Token = tuple[str, int, int]  # a word in lower case or a mark, and where it begins and ends


@dataclass(frozen=True, slots=True)
class Piece:
    """Words that belong together. ``before`` and ``after`` are what stands around them, lower case.

    That is a word or a mark: ``#`` for a number, date or time, ``|`` for the begin and the end of the request.
    """

    text: str
    determiner: str
    before: str
    after: str

    @property
    def alone(self) -> bool:
        """Whether it is all that stands between two marks."""
        return not _is_word(self.before) and not _is_word(self.after)

    @property
    def follows_verb(self) -> bool:
        """Whether a word that is no small one leads to its determiner ("walk the dog")."""
        return bool(self.determiner) and _is_word(self.before) and self.before not in BREAKS

    @property
    def opens_sentence(self) -> bool:
        """Whether a capital at its begin says nothing."""
        return self.before in {"|", ".", "!", "?"} and not self.determiner


def pieces(request: str) -> tuple[Piece, ...]:
    """All pieces, in the order of the text."""
    text = request[:LONGEST]
    tokens = [*_tokens(text), ("|", len(text), len(text))]
    content: list[bool] = []
    for number in range(len(tokens)):
        content.append(_is_content(tokens, number, inside=bool(content) and content[-1]))
    found: list[Piece] = []
    first: int | None = None
    for number, (word, _, _) in enumerate(tokens):
        if first is not None and (not content[number] or _name_begins(text, tokens, number)):
            determiner, before = _lead(tokens, first)
            found.append(Piece(text[tokens[first][1] : tokens[number - 1][2]], determiner, before, word))
            first = None
        if content[number] and first is None:
            first = number
    return tuple(found)


def _tokens(text: str) -> Iterator[Token]:
    """Words in lower case and marks between them, with where each begins and ends."""
    masked = sorted([*phrases(text), *(m.span() for p in (TIME, MEASURE, EMAIL) for m in p.finditer(text))])
    end, previous = 0, ""
    for match in _WORD.finditer(text):
        gap = text[end : match.start()].strip(" \t\"'“”‘’")
        if (gap or "\n" in text[end : match.start()]) and not (gap == "." and previous in _TITLES):
            yield gap[:1] or ".", end, match.start()
        end, previous = match.end(), match[0].lower().replace("’", "'")
        hidden = _NUMBER.fullmatch(match[0]) or any(a < match.end() and match.start() < b for a, b in masked)
        yield "#" if hidden else previous, *match.span()
    if text[end:].strip(" \t\"'“”‘’"):
        yield text[end:].strip(" \t\"'“”‘’")[0], end, len(text)


def _is_word(token: str) -> bool:
    return token[:1].isalnum()


def _is_content(tokens: list[Token], number: int, *, inside: bool) -> bool:
    """Whether the token names something. Some words do only beside others ("sore back", "back pain", "cup of tea").

    ``inside`` says that the token before it names something.
    """
    word = tokens[number][0]
    if not _is_word(word) or word in DETERMINERS:
        return False
    following = tokens[number + 1][0]
    names = _is_word(following) and following not in BREAKS | DETERMINERS
    if word not in BREAKS:
        return not (inside and word.endswith("ed") and len(word) > 4)  # "the tap fixed"
    if word in _NOUNS_TOO and following not in DETERMINERS:
        return inside or (word in _ADJECTIVES_TOO and names) or tokens[max(number - 1, 0)][0] in DETERMINERS
    return names and (word in _ADJECTIVES_TOO or (word == "of" and inside))


def _name_begins(text: str, tokens: list[Token], number: int) -> bool:
    """Whether a name follows on other words ("over the weekend Mr Silva")."""
    (last, begin, _), start = tokens[number - 1], tokens[number][1]
    return text[start : start + 1].isupper() and text[begin].islower() and last not in NAME_PARTS


def _lead(tokens: list[Token], first: int) -> tuple[str, str]:
    """The determiner before a piece, and what stands before that."""
    place = first - 1
    while place >= 0 and tokens[place][0] in DETERMINERS:
        place -= 1
    return tokens[first - 1][0] if place < first - 1 else "", tokens[place][0] if place >= 0 else "|"
