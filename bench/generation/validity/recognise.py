"""Which authored text an event was made of: by its letters, with the slots open."""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field

from bench.catalogue.facts import Activity, Fact
from bench.catalogue.load import Catalogue, all_texts
from bench.catalogue.regularities import RegularText
from bench.catalogue.texts import TEXT_SLOT, Text

_FILLINGS = {
    "amount": r"[\d.]+",
    "n": r"\d+",
    "time": r"\d\d:\d\d",
    "clock": r"\d\d:\d\d",
    "ref": r"\d\d-\d{4}",
}


@dataclass(frozen=True)
class Source:
    """A text with what it and the thing that it belongs to presume. ``story``: the episode that it is part of."""

    text: Text
    needs: frozenset[str]
    excludes: frozenset[str]
    story: str = ""
    bars: tuple[Activity, ...] = ()


@dataclass
class Recogniser:
    whole: dict[tuple[str, str], Source] = field(default_factory=dict)  # channel, words
    by_word: dict[str, list[tuple[str, re.Pattern[str], Source]]] = field(default_factory=lambda: defaultdict(list))

    def source(self, channel: str, words: str, *, regular: bool = False) -> Source | None:
        """The text with most letters of its own among those that fit; None where an event is of no known text.

        ``regular``: one of a habit's records, which records that do not belong may read like.
        """
        found = self.whole.get((channel, words))
        if found is not None:
            return found
        seen = dict.fromkeys(["", *words.split()])
        fitting = [
            (len(pattern.pattern), source)
            for word in seen
            for named, pattern, source in self.by_word.get(word, ())
            if named == channel and isinstance(source.text, RegularText) == regular and pattern.fullmatch(words)
        ]
        return max(fitting, key=lambda one: one[0])[1] if fitting else None


def recogniser(catalogue: Catalogue) -> Recogniser:
    found = Recogniser()
    open_: list[tuple[list[str], Source]] = []
    for source in _sources(catalogue):
        words = " ".join(source.text.text.split())
        if TEXT_SLOT.search(words):
            open_.append((_steady_words(words), source))
        else:
            found.whole[source.text.channel.value, words] = source
    frequency = Counter(word for words, _ in open_ for word in set(words))
    for steady, source in open_:
        rarest = min(steady, key=lambda word: (frequency[word], word), default="")
        found.by_word[rarest].append((source.text.channel.value, _pattern(source.text.text), source))
    return found


def _sources(catalogue: Catalogue) -> Iterator[Source]:
    owners: dict[str, tuple[tuple[Fact, ...], tuple[Fact, ...]]] = {}
    stories: dict[str, tuple[str, tuple[Activity, ...]]] = {}
    for routine in catalogue.routines.values():
        owners |= _owned(routine.texts, routine.needs, routine.excludes)
    for slug, data in catalogue.domains.items():
        for episode in data.episodes.values():
            owners |= _owned(episode.events, episode.needs, episode.excludes)
            stories |= {text.text: (f"{slug}.{episode.slug}", episode.bars) for text in episode.events}
        for state in data.states.values():
            texts = (*state.cues.start, *state.cues.course, *state.cues.end)
            owners |= _owned(texts, state.needs, state.excludes)
        for value in (value for dimension in data.dimensions.values() for value in dimension.values):
            owners |= _owned(value.cues, value.needs, value.excludes)
    for _, text in all_texts(catalogue):
        needs, excludes = owners.get(text.text, ((), ()))
        story, bars = stories.get(text.text, ("", ()))
        yield Source(
            text,
            text.presumes | {fact.value for fact in needs},
            frozenset(fact.value for fact in (*text.excludes, *excludes)),
            story,
            bars,
        )


def _owned(
    texts: Iterable[Text], needs: tuple[Fact, ...], excludes: tuple[Fact, ...]
) -> dict[str, tuple[tuple[Fact, ...], tuple[Fact, ...]]]:
    return {text.text: (needs, excludes) for text in texts}


def _steady_words(words: str) -> list[str]:
    """The words that no slot is part of, as they stand between spaces."""
    return [word for word in TEXT_SLOT.sub("\0", words).split() if "\0" not in word]


def _pattern(words: str) -> re.Pattern[str]:
    parts, place, flat = "", 0, " ".join(words.split())
    for match in TEXT_SLOT.finditer(flat):
        parts += re.escape(flat[place : match.start()]) + _FILLINGS.get(match[1], ".+?")
        place = match.end()
    return re.compile(parts + re.escape(flat[place:]))
