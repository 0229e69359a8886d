"""What the simulated panel makes of texts in words that are not the catalogue's.

It knows an option by its authored wordings and by the everyday words of ``bench/reader/lexicon/``. Four sets of
texts, each with one for every scenario; their files say how far they are a measure. The shares stand here as they were
measured, with room for a changed text of the catalogue.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import cache
from pathlib import Path

import pytest
import yaml

from bench.catalogue import Scenario
from bench.catalogue.words import holds_phrase
from bench.grading.combination import combine
from bench.grading.judges import JudgedCheckpoint, messages, parse, schema
from bench.grading.types import Policy, VerdictRow, VerdictSource
from bench.reader.answers import answer
from bench.reader.faults import PANEL, Dials
from bench.reader.knowledge import Option, catalogue
from bench.reader.words import lexicon

SETS = {
    path.stem: yaml.safe_load(path.read_text(encoding="utf-8"))
    for path in sorted((Path(__file__).parent / "other_words").glob("*.yaml"))
}
SCENARIOS = tuple(SETS["plain"])
EVERY = [(chosen, name) for chosen, texts in SETS.items() for name in texts]
VAGUE = "Everything is arranged the way you usually like it, as we said. Let me know if something should be changed."


def scenario_of(name: str) -> Scenario:
    return catalogue().scenario(name)


def serves(chosen: str, name: str) -> set[Option]:
    return set(SETS[chosen][name]["serves"].items())


def wordings(name: str) -> dict[Option, str]:
    """Option -> its checkpoint, for the request that the texts answer."""
    scenario = scenario_of(name)
    return {(d, v): filled(scenario, text) for d, found in scenario.preferences.items() for v, text in found.items()}


def filled(scenario: Scenario, text: str) -> str:
    for slot, choices in scenario.slots.items():
        text = text.replace(f"{{{slot}}}", "Friday the 13th" if choices == "date" else str(choices[0]))
    return text


def judged(points: Mapping[Option, str], candidate: str) -> set[Option]:
    """What a panel of judges without slips passes, by the way that a run takes."""
    asked = [JudgedCheckpoint(f"k{number}", text) for number, text in enumerate(points.values(), 1)]
    ids = [point.id for point in asked]
    body = {"messages": messages("Write it.", asked, candidate)}
    body["response_format"] = {"json_schema": {"schema": schema(ids)}}
    results = {judge: parse(answer(body | {"model": judge}, Dials())["content"], ids).verdicts for judge in PANEL}
    rows = {
        key: [VerdictRow(key, VerdictSource.JUDGE, j, found[key][0], 0, "", False) for j, found in results.items()]
        for key in ids
    }
    verdicts = [combine(rows[key], Policy("1", PANEL)).value for key in ids]
    return {option for option, value in zip(points, verdicts, strict=True) if value == "pass"}


@cache
def passed(chosen: str, name: str) -> set[Option]:
    return judged(wordings(name), SETS[chosen][name]["text"])


def share_met(chosen: str) -> float:
    met = sum(len(serves(chosen, name) & passed(chosen, name)) for name in SCENARIOS)
    return met / sum(len(serves(chosen, name)) for name in SCENARIOS)


def others(name: str) -> Iterator[Option]:
    """For each dimension the value that follows the one served."""
    for dimension, value in serves("plain", name):
        values = list(scenario_of(name).preferences[dimension])
        yield dimension, values[(values.index(value) + 1) % len(values)]


def test_twelve_scenarios_have_four_texts_and_each_serves_all_of_its_dimensions():
    assert (len(SETS), len(SCENARIOS)) == (4, 12)
    for chosen, texts in SETS.items():
        assert set(texts) == set(SCENARIOS)
        for name in texts:
            assert {dimension for dimension, _ in serves(chosen, name)} == set(scenario_of(name).dimensions)
            assert serves(chosen, name) <= wordings(name).keys()


@pytest.mark.parametrize(("chosen", "name"), EVERY)
def test_the_texts_hold_neither_checkpoint_nor_description(chosen, name):
    for dimension, value in serves(chosen, name):
        described = catalogue().dimension(dimension).value(value).description
        for text in (wordings(name)[dimension, value], described):
            assert not holds_phrase(SETS[chosen][name]["text"], text)


def test_the_panel_understands_most_of_what_is_told_in_plain_words_that_nobody_fitted():
    # 67 of 82 when they were first read, 69 since three terms with the stem of another word are gone; the judges before
    # this lexicon understood 38.
    assert share_met("plain") >= 0.75


def test_it_understands_what_another_hand_wrote_before_it_had_a_lexicon():
    # 74 of 82; the judges before this lexicon understood 41.
    assert share_met("earlier") >= 0.8


@pytest.mark.parametrize("name", SCENARIOS)
def test_of_each_scenario_a_text_in_other_words_meets_nearly_everything(name):
    missed = {chosen: len(serves(chosen, name) - passed(chosen, name)) for chosen in SETS}
    assert min(missed.values()) <= 1


def test_the_panel_hardly_ever_takes_other_words_for_another_value():
    # 2 of 660.
    rivals = {one: wordings(one[1]).keys() - serves(*one) for one in EVERY}
    wrong = sum(len(found & passed(*one)) for one, found in rivals.items())
    assert wrong / sum(map(len, rivals.values())) <= 0.01


def test_a_hedge_in_other_words_passes_hardly_anything():
    """Texts that serve three and more values of most dimensions, one below the other."""
    passing = 0
    for name in SCENARIOS:
        text = "\n".join(texts[name]["text"] for texts in SETS.values())
        passing += len(judged(wordings(name), text))
    assert passing / sum(len(wordings(name)) for name in SCENARIOS) <= 0.02


@pytest.mark.parametrize("name", SCENARIOS)
def test_every_checkpoint_is_met_by_its_own_words_and_by_no_other_of_its_dimension(name):
    for option, words in wordings(name).items():
        rivals = {rival: text for rival, text in wordings(name).items() if rival[0] == option[0]}
        assert judged(rivals, words) == {option}


@pytest.mark.parametrize("name", SCENARIOS)
def test_a_vague_text_passes_nothing(name):
    assert judged(wordings(name), VAGUE) == set()


@pytest.mark.parametrize("name", SCENARIOS)
def test_a_hedge_over_all_options_passes_nothing(name):
    assert judged(wordings(name), "\n".join(wordings(name).values())) == set()


@pytest.mark.parametrize("name", SCENARIOS)
def test_the_wording_of_another_value_passes_for_that_value_alone(name):
    text = "\n".join(wordings(name)[option] for option in others(name))
    assert judged(wordings(name), text) == set(others(name))


def test_the_lexicon_has_words_for_every_option_that_a_checkpoint_of_a_text_asks_for():
    told = {(dimension, value) for dimension, terms in lexicon().items() for value in set().union(*terms.values())}
    assert told == {option for name in SCENARIOS for option in wordings(name)}


def test_no_term_of_the_lexicon_stands_for_two_options_of_a_dimension():
    told = [
        (dimension, term) for dimension, terms in lexicon().items() for term, values in terms.items() if len(values) > 1
    ]
    assert told == []


@pytest.mark.parametrize(("cost", "right"), [("28", True), ("30", True), ("31", False)])
def test_an_amount_is_read_where_the_text_speaks_of_it_and_nowhere_else(cost, right):
    point = ("entertainment.free_days", "cost")
    text = f"No film in the plan lasts more than 40 minutes. The total cost is {cost} euros."
    assert (point in judged({point: "The plan states a total cost of at most 30 euros."}, text)) is right
