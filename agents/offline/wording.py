"""Which words of the request a free-text argument wants: by its name, its description and how people put things."""

from __future__ import annotations

import re
from dataclasses import replace

from agents.offline.pieces import BREAKS, DETERMINERS, EMAIL, LONGEST, MEASURE, NAME_PARTS, Piece, pieces
from agents.offline.scoring import coverage, stems

_SENSES = {  # what an argument asks for -> words of its name or description that say so
    "email": "email mail e-mail",
    "phone": "phone telephone mobile",
    "label": "reference ref code label inscription engraving tag voucher identifier plate number invoice",
    "note": "note notes message comment comments remark remarks instruction instructions greeting",
    "measure": "duration length weight amount quantity dose distance height width",
    "attribute": "level size colour color style class grade type brand cuisine flavour material language",
    "topic": "topic subject theme about regarding reason purpose matter teaches title question",
    "address": "address",
    "place": "place location where venue city town country village area district neighbourhood quarter region "
    "destination station airport street",
    "person": "person name who whom contact guest recipient host attendee traveller passenger patient customer",
}
_SENSE_OF = {word: sense for sense, words in _SENSES.items() for word in words.split()}
_CUES: dict[str, dict[str, float]] = {  # sense -> how much the word before a piece speaks for it
    "attribute": {"in": 1, "some": 1, "get": 1, "order": 1, "have": 1, "for": -1},
    "topic": {"about": 4, "re": 4, "regarding": 4, "concerning": 4, "on": 3, "over": 3, "learn": 3, "learning": 3,
              "study": 3, "studying": 3, "through": 2, "into": 2, "out": 2, "for": 2, "with": 1,
              "do": 1, "doing": 1, "up": 1, "of": 1},
    "place": {"in": 3, "to": 3, "near": 3, "visit": 3, "visiting": 3, "at": 2, "around": 2, "from": 2, "for": 0.5},
    "person": {"with": 3, "see": 3, "meet": 3, "call": 2, "tell": 2, "ask": 2, "for": 1, "from": 1, "by": 1},
    "thing": {"get": 1.5, "order": 1.5, "need": 1.5, "want": 1.5, "buy": 1.5, "find": 1, "open": 1, "fix": 1, "have": 1,
              "start": 1, "sort": 1, "run": 1, "do": 1, "hire": 1, "about": 1, "for": 1, "of": 1, "up": 1, "#": 1,
              "with": -0.5, "in": -0.5, "at": -0.5, "to": -0.5, "from": -0.5},
}  # fmt: skip
_CUES["address"] = _CUES["place"]
_VERBS = frozenset(
    {"is", "are", "was", "has", "have", "will", "won't", "would", "wants", "needs", "keeps", "again", "it"}
)
_PRAISE = frozenset({"good", "great", "nice", "decent", "proper", "old"})
_VAGUE_WORDS = "things stuff bit place spot slot way day time weekend kids children people team us home everything"
_AMOUNTS = frozenset({"budget", "cap", "limit", "total"})
_SURE = 1.5  # what a piece must score to be taken
_NEVER = -9.0

_QUOTED = r"\"([^\"\n]{1,120})\"|“([^”\n]{1,120})”|(?<!\w)['‘]([^'’\n]{1,120})['’](?!\w)"
_CODE = r"\b(?=[A-Z/-]*\d)[A-Z][A-Z0-9]*(?:[-/][A-Z0-9]+)*\b"
_PROPER = rf"[A-ZÀ-Þ][\w'’-]*(?:\.?(?: (?:{'|'.join(NAME_PARTS)})){{0,2}} [A-ZÀ-Þ][\w'’-]*)*"
_TITLED = r"(?:Mrs?|Ms|Dr|Prof)\b|[A-ZÀ-Þ][a-zß-ÿ]+ [A-ZÀ-Þ][a-zß-ÿ]+$"
_ADDRESS = rf"\b\d{{1,4}}[a-z]? {_PROPER}"
_PHONE = r"(?<!\w)\+?\d[\d ()/-]{5,18}\d\b"
_FIELD = r"(?: (?:number|no\.?|code|line|field|text))?"
_SIGN = r"\s*(?:[:=]|\b(?:is|should be|to be|will be|reads?|says?|saying|that)\b)\s*"
_ARTICLE = r"\b(?:an?|the|some|any|this|no)\s+$"
_ON_IT = r"\b(?:write|put|print|mark|engrave|stamp)\s+(?=.{1,80}? on (?:it|them|the \w+)\b)"
_NAMED = r"\b(?:(?:under|in) the name(?: of)?|(?<!\bI )(?<!\bwe )(?<!he )(?<!they )called|named|my name is|this is)\s+"
_THEM = r"(?:him|her|them|the \w+)"
_TOLD = rf"\b(?:tell {_THEM}|let {_THEM} know|say(?= that |:? [\"'“‘])|mention|remind {_THEM})\s+(?:that\s+)?"
_HEADED = r"\b(?:subject|topic|re|note|message|comment)\s*:\s*"
_TURNS = {"label": (_ON_IT, _NAMED), "person": (_NAMED,), "note": (_TOLD, _HEADED), "topic": (_HEADED, _NAMED)}
_SHAPES = {
    "email": EMAIL.pattern,
    "phone": _PHONE,
    "measure": f"(?i:{MEASURE.pattern})",
    "label": _CODE,
    "address": _ADDRESS,
}
_NO_KEYS = BREAKS | DETERMINERS | {"kind", "text", "value", "number"}


def find(name: str, description: str, request: str) -> str | None:
    """The words of the request that the argument wants, as they stand there; None where nothing fits well."""
    text = request[:LONGEST]
    sense = sense_of(name, description)
    return (
        _listed(description, text)
        or _keyed(name, description, sense, text)
        or _by_shape(sense, text)
        or _best_piece(name, description, sense, text)
    )


def clause(name: str, description: str, request: str) -> str:
    """The shortest clause that says most of what the argument is about; the begin of the request where none does."""
    about = f"{name} {description}"
    clauses = [part.strip() for part in re.split(r"[.!?;,\n]+", request[:LONGEST]) if part.strip()]
    best = max(clauses, key=lambda part: (coverage(about, part), -len(part)), default="")
    return best[:80] if coverage(about, best) else request[:80].strip()


def sense_of(name: str, description: str) -> str:
    """What kind of words is wanted: by the name, else by what the description is about ("Town of the clinic")."""
    said = re.findall(r"[\w-]+", description.lower())
    end = next((place for place, word in enumerate(said) if place and word in BREAKS), len(said))
    told = [word for word in said if word in {"about", "teaches"}] if said[:1] == ["what"] else said[:end]
    return next((_SENSE_OF[word] for word in [*name.lower().split("_"), *told] if word in _SENSE_OF), "thing")


def _listed(description: str, text: str) -> str | None:
    """One of the values that the description lists ("Finish: matt or glossy")."""
    listed = [value.strip(" .") for value in re.split(r",|/|\bor\b", description.partition(":")[2])]
    standing = [v for v in listed if v and re.search(rf"(?<!\w){re.escape(v)}(?!\w)", text, re.IGNORECASE)]
    return max(standing, key=len, default=None)


def _keyed(name: str, description: str, sense: str, text: str) -> str | None:
    """What stands beside the argument's own word ("reference AB-1", "AB-1 as the reference") or a turn for its like."""
    keys = _keys(name, description)
    found = next((value for key in keys if (value := _after(key, sense, text) or _ahead(key, text))), None)
    for match in (re.search(turn, text, re.IGNORECASE) for turn in _TURNS.get(sense, ())):
        found = found or (_value(text, match.end(), sense) if match else None)
    return found


def _keys(name: str, description: str) -> list[str]:
    """The argument's name, its words, and the first word of the description."""
    head = re.match(r"(?:the |an? )?([\w-]+)", description.lower())
    words = [name.replace("_", " "), *name.split("_"), *([head[1]] if head else [])]
    return [word for word in dict.fromkeys(words) if len(word) > 2 and word not in _NO_KEYS]


def _after(key: str, sense: str, text: str) -> str | None:
    """What follows the key: after a sign ("is", a colon) any words, without one only what is no part of a compound."""
    for match in re.finditer(rf"\b{re.escape(key)}s?{_FIELD}(?P<sign>{_SIGN}|\s+)", text, re.IGNORECASE):
        value = _value(text, match.end(), sense)
        bare = sense == "label" and not re.search(_ARTICLE, text[: match.start()][-9:], re.IGNORECASE)
        if value and (match["sign"].strip() or bare or _marked(text[match.end()])):
            return value
    return None


def _ahead(key: str, text: str) -> str | None:
    """What stands before "as the reference", and before the name of an attribute ("medium size")."""
    match = re.search(rf"\s+(?:as|for|in|into) (?:the|an?|my|our|its) {re.escape(key)}\b", text, re.IGNORECASE)
    if match:
        return _value_at_end(text[max(0, match.start() - 150) : match.start()])
    if _SENSE_OF.get(key) != "attribute":
        return None
    named = (re.match(rf"(.+?) {re.escape(key)}\b", piece.text, re.IGNORECASE) for piece in pieces(text))
    return next((_unpraised(match[1]) for match in named if match), None)


def _value(text: str, start: int, sense: str) -> str | None:
    """The value that begins at ``start``: quoted, a code, a name, or words as far as the next break."""
    rest = text[start : start + 300].lstrip()
    quoted = re.match(_QUOTED, rest)
    if quoted:
        return _inner(quoted)
    if sense == "note":
        return re.split(r"[.!?;\n]", rest)[0].strip(" ,\"'“”") or None
    shaped = re.match(_CODE, rest) or re.match(r"\d[\w/-]*", rest)
    if shaped:
        return shaped[0]
    found = pieces(rest)
    return _with_article(found[0], sense) if found and found[0].before == "|" else None


def _value_at_end(text: str) -> str | None:
    """The value that ends where the text ends."""
    quoted = re.search(rf"(?:{_QUOTED})$", text)
    found = pieces(text)
    return _inner(quoted) if quoted else found[-1].text if found and found[-1].after == "|" else None


def _inner(quoted: re.Match[str]) -> str:
    return next(group for group in quoted.groups() if group).strip()


def _marked(letter: str) -> bool:
    """Whether a value that begins so shows itself as one: a capital, a digit, a quotation mark."""
    return letter.isupper() or letter.isdigit() or letter in "\"'“‘"


def _by_shape(sense: str, text: str) -> str | None:
    """Values known by their shape alone: addresses, telephone numbers, measures, codes, quoted words."""
    shaped = re.search(_SHAPES[sense], text) if sense in _SHAPES else None
    quoted = re.search(_QUOTED, text) if sense in {"label", "note", "topic", "thing"} else None
    return shaped[0] if shaped else _inner(quoted) if quoted else None


def _best_piece(name: str, description: str, sense: str, text: str) -> str | None:
    """The piece that looks most like what is wanted; None where none does enough, or where it takes surer signs."""
    if sense not in _CUES:
        return None
    about = f"{name} {description}".strip()
    found = pieces(text)
    leads = {*name.split("_"), *description.lower().split()[-1:]}
    leading = [piece.before in leads or bool(stems(piece.before) & stems(description)) for piece in found]
    scores = [_score(piece, sense, about) + 2.0 * led for piece, led in zip(found, leading, strict=True)]
    best = max(range(len(found)), key=lambda place: (scores[place], -place), default=0)
    return _shown(found[best], sense, about) if found and scores[best] >= _SURE else None


def _score(piece: Piece, sense: str, about: str) -> float:
    """How much a piece looks like the value: what leads to it, what it says, how it is written."""
    words, own = stems(piece.text), stems(about)
    if not words - own - stems(_VAGUE_WORDS) or _names_argument(piece, sense):
        return _NEVER
    score = _CUES[sense].get(piece.before, 0.0) + piece.alone
    score += piece.after in _VERBS or piece.after.endswith("ed") or (sense == "person" and piece.after == "and")
    named = re.search(_PROPER, piece.text) is not None
    if sense in {"place", "address", "person"}:
        return score + _written_as_name(piece, sense, named)
    if sense == "topic":
        return score + 2.0 * bool(words & own) + _topical(piece)
    if sense == "attribute":
        return score + (2.0 if words & own else _described(piece)) + 0.25 * named
    return score + 2.0 * bool(words & own) + _introduced(piece) - named


def _names_argument(piece: Piece, sense: str) -> bool:
    """Whether it says which value comes and is none itself ("size", "reference kitchen", "budget")."""
    first, *more = piece.text.lower().split()
    return (
        first in _AMOUNTS
        or (not more and _SENSE_OF.get(first, "place") not in {"place", "person"})
        or (_SENSE_OF.get(first) == "label" != sense)
    )


def _written_as_name(piece: Piece, sense: str, named: bool) -> float:
    if named:
        return 1.5 - (piece.opens_sentence and not piece.alone)
    return 1.0 if sense != "person" and piece.determiner == "the" else _NEVER


def _topical(piece: Piece) -> float:
    """What somebody owns is seldom a topic, and people are none."""
    owned = {"": 0.0, "the": 0.5, "a": 0.0, "an": 0.0}.get(piece.determiner, -2.0)
    return 0.6 + owned - 3.0 * bool(re.match(_TITLED, piece.text))


def _introduced(piece: Piece) -> float:
    """A thing not spoken of before has "a" or "some" before it; a participle alone is none ("wrapped")."""
    return (
        0.5
        + {"": 0.0, "a": 1.0, "an": 1.0, "some": 1.0}.get(piece.determiner, 0.5)
        - piece.text.endswith("ed")
        + 0.5 * piece.follows_verb
    )


def _described(piece: Piece) -> float:
    """An attribute is an adjective, and names no thing of somebody's."""
    return 0.5 - 2.0 * (piece.determiner not in {"", "some"})


def _shown(piece: Piece, sense: str, about: str) -> str:
    """The piece as a value: names alone, topics and attributes without the argument's own word at their end."""
    names = re.findall(_PROPER, piece.text)
    if sense in {"place", "address", "person"} and names:
        return str(max(names, key=len))
    words = piece.text.split()
    while (
        (sense in {"topic", "attribute"} or " what " in about.lower())
        and len(words) > 1
        and stems(words[-1]) <= stems(about)
    ):
        words.pop()
    return _with_article(replace(piece, text=" ".join(words)), sense)


def _with_article(piece: Piece, sense: str) -> str:
    """Places and topics keep their "the", other things lose it and any praise ("the good walking shoes")."""
    if sense in {"place", "topic"}:
        return f"the {piece.text}" if piece.determiner == "the" else piece.text
    return _unpraised(piece.text)


def _unpraised(text: str) -> str:
    """Without praise in front ("good walking shoes")."""
    words = text.split()
    while len(words) > 1 and words[0].lower() in _PRAISE:
        words.pop(0)
    return " ".join(words)
