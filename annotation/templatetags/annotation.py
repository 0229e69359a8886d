"""Statistics with their interval, or the words for why there is none."""

from __future__ import annotations

from django import template
from django.utils.html import format_html
from django.utils.safestring import SafeString

from bench.dashboards import numbers

register = template.Library()


@register.simple_tag
def statistic(
    value: float | None,
    reason: str | None = None,
    low: float | None = None,
    high: float | None = None,
    interval_reason: str | None = None,
) -> SafeString:
    """The value with its interval, or a dash with "undefined because ..." in words beside it."""
    if value is None:
        return format_html('<span class="undefined">– {}</span>', reason or "undefined")  # noqa: RUF001
    digits = numbers.digits_for(low, high)
    interval = numbers.interval({"low": low, "high": high})
    shown = numbers.signed(value, digits) if value < 0 else numbers.share(value, digits)
    if interval or not interval_reason:
        return format_html(
            '<span class="measure">{} <span class="interval">{}</span></span>', shown, interval
        )
    return format_html(
        '<span class="measure" title="interval {0}">{1} <span class="interval">(–)<span class="sr">interval {0}</span></span></span>',  # noqa: E501, RUF001
        interval_reason, shown,
    )  # fmt: skip
