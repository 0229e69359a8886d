"""Statistics with their interval, or a mark that leads to the words for why there is none."""

from __future__ import annotations

from collections.abc import Sequence

from django import template
from django.utils.html import format_html
from django.utils.safestring import SafeString

from bench.dashboards import numbers

register = template.Library()


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
    digits = numbers.digits_for(low, high)
    shown = numbers.signed(value, digits) if value < 0 else numbers.share(value, digits)
    interval = numbers.interval({"low": low, "high": high})
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
