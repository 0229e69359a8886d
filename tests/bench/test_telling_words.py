"""The words by which signal can be told from noise are named with how often they stand, and with the surest texts."""

from __future__ import annotations

import logging
from datetime import UTC, datetime

import pytest

from bench.catalogue.recurring_texts import lines
from bench.catalogue.telling_words import Placed, authored, generated, main, report, told
from bench.generation.validity.record import KINDS, WAYS, Record

NOON = datetime(2026, 1, 15, 12, tzinfo=UTC)
(_, SIGNAL, NOISE), _ = KINDS
WORDS = dict(WAYS)["words"]


def said(split, role, *texts):
    return [Placed(Record("p", split, NOON, "note", text, role), f"{text}.yaml") for text in texts]


def both(role, *texts):
    return said("dev", role, *texts) + said("test", role, *texts)


def test_a_word_that_only_signal_has_comes_first_with_its_counts():
    found = told(both("cue", "loud and", "loud or") + both("everyday", "calm and", "calm or"), SIGNAL, NOISE, WORDS)
    assert found.auc == 1.0
    assert {f.name: (f.dev, f.test) for f in found.features[:2]} == {"calm": ((0, 2), (0, 2)), "loud": ((2, 0), (2, 0))}


def test_a_lift_is_the_log_odds_times_the_difference_of_the_rates_on_test():
    """dev: loud 1 of 1 and 0 of 1, two words known: odds ln((1+1)/(0+1)); test: 1 a text and 0 a text."""
    found = told(both("cue", "loud") + both("everyday", "calm"), SIGNAL, NOISE, WORDS)
    assert next(f for f in found.features if f.name == "loud").lift == pytest.approx(0.6931, abs=1e-4)


def test_the_surest_texts_of_either_side_come_first():
    world = both("cue", "loud", "loud loud") + both("everyday", "calm calm", "calm")
    found = told(world, SIGNAL, NOISE, WORDS)
    assert [text.place for _, text in found.first] == ["loud loud.yaml", "loud.yaml"]
    assert [text.place for _, text in found.second] == ["calm calm.yaml", "calm.yaml"]


def test_what_has_no_noise_on_dev_is_left_out():
    assert list(report(both("cue", "loud") + said("test", "everyday", "calm"))) == []


def test_every_authored_text_is_read_with_its_slots_filled(catalogue):
    texts = authored(catalogue)
    assert len(texts) == len(list(lines(catalogue)))
    assert not any("{" in text.record.text for text in texts)
    assert {text.record.split for text in texts} == {"dev", "test"}


def test_the_events_of_a_size_come_with_the_files_of_their_texts(catalogue):
    texts = list(generated(catalogue, "tiny"))
    assert len({text.record.persona for text in texts}) == 3
    assert all(text.place.endswith(".yaml") for text in texts)


def test_the_command_names_areas_and_refuses_what_is_neither_domain_nor_size(capsys):
    assert main(["dining"]) == 0
    printed = capsys.readouterr().out
    assert "signal or noise by words: area 0." in printed
    assert "surest of distractor:" in printed
    assert main(["gardening"]) == 2
    assert main(["dining", "gardening"]) == 2
    assert "'gardening' is no domain" in capsys.readouterr().err


def test_a_size_is_read_without_setting_up_the_process_anew(capsys):
    before = list(logging.getLogger().handlers)  # set up within a test, they would write to its closed stderr
    assert main(["gardening"]) == 2
    assert logging.getLogger().handlers == before
