from __future__ import annotations

import math

import pytest

from bench.generation.validity.word_reader import best, learn, learn_each, rank_auc, words


def test_a_tie_counts_half():
    # pairs: 3>2, 3>1, 2=2 (half), 2>1 -> 3.5 of 4
    assert rank_auc([3, 2], [2, 1]) == 0.875


def test_odds_of_a_word_follow_from_its_counts():
    # yes: a a b (3 words), no: b (1 word), 2 kinds: a = (2+1)/(3+2) over (0+1)/(1+2) = 0.6 / (1/3) = 1.8
    reader = learn([words("a a b")], [words("b")])
    assert reader.score(words("A, unseen")) == pytest.approx(math.log(1.8))


def test_a_planted_word_gives_signal_away_on_texts_never_seen():
    reader = learn([["tell", "one"], ["tell", "two"]], [["one", "day"], ["two", "days"]])
    assert rank_auc([reader.score(["tell", "four"])], [reader.score(["four", "days"]), reader.score(["four"])]) == 1.0


def test_the_same_words_on_both_sides_tell_nothing():
    reader = learn([["one", "two"]], [["two", "one"]])
    assert rank_auc([reader.score(["one"])], [reader.score(["two"])]) == 0.5


def test_a_class_without_texts_is_refused_with_both_counts():
    with pytest.raises(ValueError, match="0 positive and 1 negative"):
        learn([], [["one"]])


def test_the_class_whose_words_stand_there_is_best_and_equal_classes_tie():
    readers = learn_each({"a": [["red"]], "b": [["blue"]], "c": [["green"]]})
    assert best(readers, ["blue"]) == ["b"]
    assert best(readers, ["unseen"]) == ["a", "b", "c"]
    assert best(learn_each({"a": [["red"]]}), ["blue"]) == ["a"]
    assert best({}, ["blue"]) == []
