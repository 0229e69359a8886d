"""`python -m bench.catalogue.telling_words [domain ... | size]`: which words and forms tell signal from noise.

The classifier and the features are those of `check_dataset`: learned on the texts of dev, read on those of test. Of
domains each authored text counts once, with a filling for its slots; of a size (starter, 100) the histories are made as
`build_dataset` makes them with seed 1, and nothing is stored. For whoever mends texts; it judges nothing.
"""

from __future__ import annotations

import os
import sys
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime

import django

from bench.catalogue.load import DATA, DOMAINS, Catalogue, CatalogueError, all_texts, load_catalogue
from bench.catalogue.recurring_texts import Line, lines
from bench.catalogue.texts import TEXT_SLOT
from bench.generation.validity.recognise import recogniser
from bench.generation.validity.record import KINDS, WAYS, Kind, Record, Tokens
from bench.generation.validity.word_reader import learn, rank_auc

SHOWN = 40  # features of a table
SUREST = 12  # texts of a side
FORM_WAYS = ("words", "length and punctuation")  # what a writer can mend
GATE_ROLES: Mapping[str, str] = {  # of an authored text -> as events are labelled
    "state": "state_course",
    **dict.fromkeys(("routine", "change", "episode", "contrast"), "everyday"),
}
_FILLINGS = {"amount": "14.60", "n": "7", "time": "17:40", "clock": "17:40", "ref": "41-2290", "date": "9 May"}
_DAY = datetime(2026, 5, 9, 12, tzinfo=UTC)


@dataclass(frozen=True)
class Placed:
    """A text and the file that it was authored in."""

    record: Record
    place: str


@dataclass(frozen=True)
class Feature:
    """``lift``: how much further apart it brings the means of the two classes on test, in nats. Counts are of texts'
    tokens, the first class before the second."""

    name: str
    lift: float
    dev: tuple[int, int]
    test: tuple[int, int]


@dataclass(frozen=True)
class Told:
    """What a reader of one kind and way reached. ``first`` and ``second``: test's texts of either class that it is
    surest of, each with its score."""

    auc: float
    features: Sequence[Feature]
    first: Sequence[tuple[float, Placed]]
    second: Sequence[tuple[float, Placed]]


def authored(catalogue: Catalogue) -> list[Placed]:
    def fill(text: str) -> str:
        return TEXT_SLOT.sub(lambda match: _FILLINGS.get(match[1], "Ines"), text)

    def record(line: Line) -> Record:
        return Record("", line.split, _DAY, line.channel, fill(line.text), GATE_ROLES.get(line.role, line.role))

    return [Placed(record(line), line.place) for line in lines(catalogue)]


def generated(catalogue: Catalogue, size: str) -> Iterator[Placed]:
    """The events of a dataset. Raises ValueError for an unknown size."""
    from bench.generation.build import Recipe, generate  # the builder's tables are known only now

    places = {text.text: place for place, text in all_texts(catalogue)}
    known = recogniser(catalogue)
    for persona in generate(catalogue, Recipe("telling", size)):
        for e in persona.events:
            source = known.source(e.channel, e.text, regular=e.role == "regular")
            record = Record(persona.slug, persona.split, e.occurred_at, e.channel, e.text, e.role, e.dimension, e.value)
            yield Placed(record, places[source.text.text] if source else "")


def told(texts: Sequence[Placed], yes: Kind, no: Kind, tokens: Tokens) -> Told | None:
    """None where a class has no text on dev or none on test."""
    dev, test = (
        [[t for t in texts if t.record.split == s and kind(t.record)] for kind in (yes, no)] for s in ("dev", "test")
    )
    if not all((*dev, *test)):
        return None
    reader = learn(*([tokens(t.record) for t in side] for side in dev))
    counts = [Counter(token for t in side for token in tokens(t.record)) for side in (*dev, *test)]
    found = []
    for name, odds in reader.odds.items():
        a, b, c, d = (count[name] for count in counts)
        found.append(Feature(name, odds * (c / len(test[0]) - d / len(test[1])), (a, b), (c, d)))
    scored = [sorted(((reader.score(tokens(t.record)), t) for t in side), key=lambda row: row[0]) for side in test]
    auc = rank_auc(*([score for score, _ in side] for side in scored))
    return Told(auc, sorted(found, key=lambda f: (-f.lift, f.name)), scored[0][::-1], scored[1])


def report(texts: Sequence[Placed]) -> Iterator[str]:
    for kind, yes, no in KINDS:
        for way, tokens in WAYS:
            found = told(texts, yes, no, tokens) if way in FORM_WAYS else None
            if found is None:
                continue
            first, second = kind.split(" or ")
            yield f"\n{kind} by {way}: area {found.auc:.4f} on test (limit 0.60)"
            yield f"  {'lift':>7}  {'':28} dev {first}/{second}   test {first}/{second}"
            for f in found.features[:SHOWN]:
                yield f"  {f.lift:7.4f}  {f.name:28} {f.dev[0]:5}/{f.dev[1]:<5} {f.test[0]:5}/{f.test[1]:<5}"
            for name, side in ((first, found.first), (second, found.second)):
                yield f"  surest of {name}:"
                yield from _each_once(side)


def _each_once(side: Sequence[tuple[float, Placed]]) -> Iterator[str]:
    """A routine's records differ in numbers only: one of a file will do."""
    by_place: dict[tuple[str, str], str] = {}
    for score, text in side:
        row = f"  {score:7.2f}  {text.place}: {text.record.channel}: {text.record.text}"
        by_place.setdefault((text.place, text.record.text[:12]), row)
    yield from list(by_place.values())[:SUREST]


def main(arguments: list[str]) -> int:
    size = next((name for name in arguments if name not in DOMAINS), "")
    try:
        if size and len(arguments) > 1:
            raise ValueError(f"{size!r} is no domain; give domains ({', '.join(DOMAINS)}) or one size")
        catalogue = load_catalogue(DATA, DOMAINS if size else tuple(arguments) or DOMAINS)
        texts = list(generated(catalogue, size)) if size else authored(catalogue)
    except CatalogueError as error:
        print(error, file=sys.stderr)
        return 1
    except ValueError as error:
        print(f"error: {error}", file=sys.stderr)
        return 2
    print("\n".join(report(texts)))
    return 0


if __name__ == "__main__":
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "iba_site.settings")
    django.setup()  # here alone: it puts log handlers on what stderr is at this moment
    sys.exit(main(sys.argv[1:]))
