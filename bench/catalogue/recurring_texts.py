"""`python -m bench.catalogue.recurring_texts [domain ...]`: what recurs in the authored texts.

For whoever writes the next one: openings, endings, runs of five words, names and numbers that stand in several texts,
and how length and punctuation differ by role. It names places and judges nothing.
"""

from __future__ import annotations

import calendar
import re
import sys
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from statistics import quantiles

from bench.catalogue.load import DATA, DOMAINS, Catalogue, CatalogueError, load_catalogue
from bench.catalogue.schema import Dimension
from bench.catalogue.texts import TEXT_SLOT, Text, of_split

SHOWN = 15  # rows a table
SPLITS = ("dev", "test")
OFTEN: Mapping[str, int] = {"openings": 6, "endings": 4, "five words": 3, "names": 5, "numbers": 12}  # texts, at least
MARKS = ".,;:!?-()'\"%/#"

_WORD = re.compile(r"[^\W\d_]+(?:['’][^\W\d_]+)?")
_NAME = re.compile(r"(?<=[a-z,;] )[A-Z][a-z]{2,}")  # a capital that opens no sentence
_NUMBER = re.compile(r"(?<![\d{:.-])\d{2,}(?:[.:]\d+)*(?![\d}-])")
_CALENDAR = {*calendar.day_name, *calendar.day_abbr, *calendar.month_name, *calendar.month_abbr}


@dataclass(frozen=True, slots=True)
class Line:
    """An authored text. ``place`` is its file; ``role`` what it serves."""

    place: str
    role: str
    text: str
    split: str = ""
    channel: str = ""


def lines(catalogue: Catalogue) -> Iterator[Line]:
    """All but records of choices, which show something in one life and nothing in another."""
    yield from _told("everyday.yaml", "everyday", catalogue.everyday)
    for routine in catalogue.routines.values():
        yield from _told(f"people/routines/{routine.slug}.yaml", "routine", routine.texts)
    for change in catalogue.changes.values():
        yield from _told(f"people/changes/{change.slug}.yaml", "change", change.told)
    for slug, data in catalogue.domains.items():
        yield from _told(f"{slug}/everyday.yaml", "everyday", data.everyday)
        for dimension in data.dimensions.values():
            yield from _of_dimension(f"{slug}/dimensions/{dimension.slug}.yaml", dimension)
        for state in data.states.values():
            for told in (state.cues.start, state.cues.course, state.cues.end):
                yield from _told(f"{slug}/states/{state.slug}.yaml", "state", told)
        for regularity in data.regularities.values():
            place = f"{slug}/regularities/{regularity.slug}.yaml"
            yield from _told(place, "regular", regularity.texts)
            yield from _told(place, "contrast", regularity.contrast)
        for episode in data.episodes.values():
            place = f"{slug}/episodes/{episode.slug}.yaml"
            yield from (Line(place, "episode", e.text, episode.split, e.channel) for e in episode.events)


def _of_dimension(place: str, dimension: Dimension) -> Iterator[Line]:
    for value in dimension.values:
        yield from _told(place, "cue", value.cues)
        yield from _told(place, "against", value.against)
    for condition in dimension.conditions:
        yield from _told(place, "cue", condition.cues.when)
        yield from _told(place, "cue", condition.cues.otherwise)
    for drift in dimension.drifts:
        for split in SPLITS:
            yield from _of_split(place, "cue", dimension.reasons(drift, split), split)
    yield from _told(place, "distractor", dimension.distractors)


def _told(place: str, role: str, texts: Sequence[Text]) -> Iterator[Line]:
    for split in SPLITS:
        yield from _of_split(place, role, of_split(texts, split), split)


def _of_split(place: str, role: str, texts: Sequence[Text], split: str) -> Iterator[Line]:
    yield from (Line(place, role, text.text, split, text.channel) for text in texts)


def words(text: str) -> list[str]:
    """In small letters; what fills a slot is another thing in each life."""
    return [word.lower() for word in _WORD.findall(TEXT_SLOT.sub(" ", text))]


def _opening(text: str) -> set[str]:
    return {" ".join(words(text)[:3])} if len(words(text)) > 3 else set()


def _ending(text: str) -> set[str]:
    return {" ".join(words(text)[-3:])} if len(words(text)) > 3 else set()


def _fives(text: str) -> set[str]:
    found = words(text)
    return {" ".join(found[n : n + 5]) for n in range(len(found) - 4)}


FEATURES: Mapping[str, Callable[[str], Iterable[str]]] = {
    "openings": _opening,
    "endings": _ending,
    "five words": _fives,
    "names": lambda text: set(_NAME.findall(text)) - _CALENDAR,
    "numbers": lambda text: set(_NUMBER.findall(text)),
}


def recurring(texts: Iterable[Line]) -> dict[str, dict[str, list[str]]]:
    """Feature -> what recurs in ``OFTEN`` texts or more -> the files that hold it, the most frequent first."""
    found: dict[str, dict[str, list[str]]] = {name: defaultdict(list) for name in FEATURES}
    for line in texts:
        for name, features in FEATURES.items():
            for feature in features(line.text):
                found[name][feature].append(line.place)
    return {
        name: dict(
            sorted(
                ((what, places) for what, places in by_what.items() if len(places) >= OFTEN[name]),
                key=lambda row: (-len(row[1]), row[0]),
            )
        )
        for name, by_what in found.items()
    }


def looks(texts: Iterable[Line]) -> dict[str, dict[str, float]]:
    """Role -> n, quartiles of the length in characters, share of texts with each mark, share that end without one."""
    by_role: dict[str, list[str]] = defaultdict(list)
    for line in texts:
        by_role[line.role].append(line.text)
    found = {}
    for role, own in sorted(by_role.items()):
        low, middle, high = quantiles(map(len, own), n=4) if len(own) > 1 else (len(own[0]),) * 3
        shares = {mark: sum(mark in text for text in own) / len(own) for mark in MARKS}
        bare = sum(text[-1].isalnum() for text in own) / len(own)
        found[role] = {"n": len(own), "25%": low, "50%": middle, "75%": high, **shares, "bare end": bare}
    return found


def main(arguments: list[str]) -> int:
    unknown = [name for name in arguments if name not in DOMAINS]
    if unknown:
        print(f"unknown domain {unknown[0]!r}; allowed: {', '.join(DOMAINS)}", file=sys.stderr)
        return 2
    try:
        found = list(lines(load_catalogue(DATA, tuple(arguments) or DOMAINS)))
    except CatalogueError as error:
        print(error, file=sys.stderr)
        return 1
    for name, rows in recurring(found).items():
        print(f"\n{name} in {OFTEN[name]} texts or more: {len(rows)}")
        for what, places in list(rows.items())[:SHOWN]:
            print(f"  {len(places):4}  {what:<40}  {', '.join(sorted(set(places))[:3])}")
    table = looks(found)
    print("\nlength in characters, and share of texts with each mark")
    columns = list(next(iter(table.values())))
    print("  " + " " * 12 + "".join(f"{column:>9}" for column in columns))
    for role, row in table.items():
        print(f"  {role:<12}" + "".join(f"{row[c]:9.0f}" if c in columns[:4] else f"{row[c]:9.2f}" for c in columns))
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
