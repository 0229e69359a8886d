from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from bench.search.pieces import PIECE, pieces_of


def test_a_short_text_is_its_own_only_piece():
    assert pieces_of("  Two tickets. For the late film  ") == ["  Two tickets. For the late film  "]
    assert pieces_of("") == [""]


def test_a_long_text_is_cut_where_lines_and_sentences_end():
    line = "x" * 200  # two lines and a space are 401 characters, three would be 602
    assert pieces_of("\n".join([line] * 5)) == [f"{line} {line}", f"{line} {line}", line]
    sentence = "y" * 299 + "."
    assert pieces_of(f"{sentence} {sentence}") == [sentence, sentence]


def test_a_sentence_without_an_end_is_cut_at_a_space_or_in_the_middle():
    assert pieces_of("a" * 450 + " " + "b" * 200) == ["a" * 450, "b" * 200]
    assert [len(piece) for piece in pieces_of("c" * 1200)] == [500, 500, 200]


@given(st.text(alphabet="ab .\n!é", max_size=3000))
def test_pieces_hold_every_word_and_none_is_too_long(text: str):
    pieces = pieces_of(text)
    assert pieces
    assert all(len(piece) <= PIECE for piece in pieces)
    if len(text) > PIECE:
        assert "".join("".join(pieces).split()) == "".join(text.split())
