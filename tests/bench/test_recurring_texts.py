"""What recurs in the authored texts is named with the files that hold it."""

from __future__ import annotations

from bench.catalogue.recurring_texts import Line, lines, looks, main, recurring


def said(*texts, role="cue"):
    return [Line(f"f{number}.yaml", role, text) for number, text in enumerate(texts)]


def test_a_run_of_five_words_in_three_texts_is_named_with_its_files():
    found = recurring(said("then I sat down by the door", "We sat down by the door, all", "sat down by the door"))
    assert found["five words"] == {"sat down by the door": ["f0.yaml", "f1.yaml", "f2.yaml"]}


def test_what_fills_a_slot_and_names_of_days_do_not_recur():
    found = recurring(said(*["{friend} came on Tuesday with Ottilie"] * 6))
    assert list(found["names"]) == ["Ottilie"]
    assert list(found["openings"]) == ["came on tuesday"]


def test_a_number_that_stands_in_few_texts_is_left_out():
    assert recurring(said(*["pays 47 of it"] * 11))["numbers"] == {}
    assert list(recurring(said(*["pays 47 of {n:2-5}"] * 12))["numbers"]) == ["47"]


def test_looks_are_quartiles_of_length_and_shares_of_marks():
    """Lengths 2, 4, 6 and 8; two of four hold a comma, three end in a letter."""
    found = looks(said("ab", "a, b", "a, bcd", "abcdefg."))["cue"]
    assert (found["n"], found["50%"], found[","], found["bare end"]) == (4, 5.0, 0.5, 0.75)


def test_every_role_of_the_catalogue_is_looked_at(catalogue):
    assert {line.role for line in lines(catalogue)} >= {"cue", "against", "distractor", "state", "everyday"}


def test_the_command_prints_each_feature_and_refuses_an_unknown_domain(capsys):
    assert main(["dining"]) == 0
    printed = capsys.readouterr().out
    assert all(name in printed for name in ("openings", "endings", "five words", "names", "numbers", "distractor"))
    assert main(["gardening"]) == 2
    assert "unknown domain 'gardening'" in capsys.readouterr().err
