"""All shortcut readers of a dataset. They say what is; no run depends on them."""

from __future__ import annotations

from bench.generation.validity.content import Content, read_content
from bench.generation.validity.options import option_readers
from bench.generation.validity.shortcut import Shortcut
from bench.generation.validity.silence import least_named
from bench.generation.validity.telling import telling_readers
from bench.generation.validity.texts import Embed, text_readers
from bench.generation.validity.values import value_readers
from bench.models import Dataset


def read_shortcuts(dataset: Dataset, embed: Embed | None = None) -> list[Shortcut]:
    """``embed``: without it what needs vectors is not measured."""
    return shortcuts_of(read_content(dataset), embed)


def shortcuts_of(content: Content, embed: Embed | None = None) -> list[Shortcut]:
    """In a fixed order."""
    of_noise = [least_named(content), *telling_readers(content)]
    return [*value_readers(content), *option_readers(content), *of_noise, *text_readers(content, embed)]
