"""Parts of a transcript with the marks of those who point at them; statistics with interval or reason."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from functools import lru_cache
from typing import Any
from urllib.parse import quote

from django import template
from django.utils.html import format_html, format_html_join
from django.utils.safestring import SafeString, mark_safe

from annotation.transcript import Groups, Passage, event_part
from bench.models import Event
from bench.pages import numbers

register = template.Library()
RATERS = "ABC"  # those with a shade of their own
QUOTED = 60  # characters of a part that stand in a link to it
OPTION, SELECTED = '<option value="{}"{}>{}: {}</option>', mark_safe(" selected")


@register.simple_tag(takes_context=True)
def part(context: dict[str, Any], what: Passage | Event, owner: str = "") -> SafeString:
    """The part's text, marked with who points at it (``marks`` of the context: name -> labels).

    ``owner`` keeps ids apart where one event stands under several checkpoints.
    """
    shown = event_part(what) if isinstance(what, Event) else what
    labels = context.get("marks", {}).get(shown.name, ())
    shade = f"anchored {_shade(labels[0])}" if labels else ""
    pins = format_html_join("", '<sup class="pin {}">{}</sup>', ((_shade(label), label) for label in labels))
    return format_html(
        '<span class="part-text {}" id="{}{}" data-part="{}" data-label="{}">{}</span>{}',
        shade, owner, shown.name, shown.name, shown.label, shown.text, pins,
    )  # fmt: skip


def _shade(label: str) -> str:
    return f"shade-{label.lower()}" if label in RATERS else "shade-own"


@register.simple_tag
def points_at(anchor: Passage, owner: str = "") -> SafeString:
    """A link to the part that a comment points at."""
    where = f"{owner}{anchor.name}" if anchor.name.startswith("event:") else anchor.name
    said = _quoted(anchor.text)
    return format_html('<a class="points-at" href="#{}">{} <q>{}</q></a>', quote(where, safe=":"), anchor.label, said)


@register.simple_tag
@lru_cache(maxsize=16)  # may hold long texts
def part_options(groups: Groups, chosen: str = "") -> SafeString:
    """The parts as options of a select, by group. In Python and once, since a page shows hundreds several times."""
    return format_html_join(
        "\n",
        '<optgroup label="{}">{}</optgroup>',
        ((title, format_html_join("\n", OPTION, _options(found, chosen))) for title, found in groups),
    )


def _options(found: Iterable[Passage], chosen: str) -> Iterator[tuple[str, str, str, str]]:
    for one in found:
        yield one.name, SELECTED if one.name == chosen else "", one.label, _quoted(one.text)


def _quoted(text: str) -> str:
    return text if len(text) <= QUOTED else f"{text[: QUOTED - 1]}…"


@register.simple_tag
def statistic(
    value: float | None,
    reason: str | None = None,
    why: Sequence[str] = (),
    low: float | None = None,
    high: float | None = None,
    interval_reason: str | None = None,
) -> SafeString:
    """The value with its interval, or a dash. ``why`` lists the reasons that stand below the table."""
    if value is None:
        return format_html('<span class="undefined">–{}</span>', _reference(reason, why))
    shown = numbers.signed(value) if value < 0 else numbers.share(value)
    interval = numbers.interval({"low": low, "high": high}, sign=low is not None and low < 0)
    if interval or not interval_reason:
        return format_html('<span class="measure">{} <span class="interval">{}</span></span>', shown, interval)
    return format_html(
        '<span class="measure">{} <span class="interval">(–){}</span></span>', shown, _reference(interval_reason, why)
    )


def _reference(reason: str | None, why: Sequence[str]) -> SafeString:
    """The number of the reason in the list below, or the reason itself where there is no list."""
    if reason and reason in why:
        return format_html('<sup>{}</sup><span class="sr"> {}</span>', list(why).index(reason) + 1, reason)
    return format_html(" {}", reason or "undefined")
