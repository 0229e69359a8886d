"""Template tags of the product: numbers, verdict marks, badges, methods, bars."""

from __future__ import annotations

import json
from collections.abc import Mapping
from datetime import datetime
from typing import Any
from urllib.parse import urlencode

from django import template
from django.template.loader import render_to_string
from django.utils.html import format_html
from django.utils.safestring import SafeString

from bench.access import may_adjudicate, may_annotate, may_see_results
from bench.models import Dataset
from bench.pages import numbers

register = template.Library()

VERDICTS: Mapping[str, tuple[str, str]] = {
    "pass": ("✓", "pass"),
    "fail": ("✗", "fail"),
    "cannot_judge": ("?", "cannot judge"),
    "": ("·", "unscored"),
}

_PAGES = (
    ("/", "Domains", may_see_results),
    ("/runs/", "Runs", may_see_results),
    ("/compare/", "Compare", may_see_results),
    ("/annotate/", "Annotate", may_annotate),
    ("/adjudicate/", "Adjudicate", may_adjudicate),
    ("/agreement/", "Agreement", may_see_results),
    ("/datasets/", "Datasets", may_see_results),
)


@register.simple_tag(takes_context=True)
def nav_links(context: template.Context) -> list[dict[str, object]]:
    """What this person may open: [{href, label, current}]."""
    request = context.get("request")
    if request is None or not hasattr(request, "user") or not request.user.is_authenticated:
        return []
    at = request.path
    return [
        {"href": href, "label": label, "current": _is_current(href, at)}
        for href, label, allowed in _PAGES
        if allowed(request.user)
    ]


def _is_current(href: str, at: str) -> bool:
    if href == "/":
        return at == "/" or at.startswith("/domains/")
    return at.startswith(href) or (href == "/runs/" and at.startswith("/trajectories/"))


@register.simple_tag
def query(**values: object) -> str:
    """``?run=3&split=test``: what is empty is left out, True is 1; "" where all is empty."""
    given = {name: 1 if value is True else value for name, value in values.items() if value not in (None, "", False)}
    return f"?{urlencode(given)}" if given else ""


@register.simple_block_tag
def empty_state(content: str, title: str, href: str = "", action: str = "", command: str = "") -> SafeString:
    """What stands where nothing is yet; ``content`` says what will. One thing to do: a link, or a command."""
    parts = {"text": content.strip(), "title": title, "href": href, "action": action, "command": command}
    return render_to_string("parts/empty.html", parts)


@register.simple_tag
def verdict(value: str | None, label: str = "", *, sign_only: bool = False) -> SafeString:
    """✓ pass. With ``label`` that text replaces the word; ``sign_only`` keeps the word for screen readers."""
    key = value or ""
    sign, word = VERDICTS.get(key, VERDICTS[""])
    css = key if key in VERDICTS and key else "unscored"
    if sign_only:
        return format_html(
            '<span class="mark mark-{}" title="{}">{}<b aria-hidden="true">{}</b><span class="sr">{}</span></span>',
            css, f"{label} {word}".strip(), label, sign, word,
        )  # fmt: skip
    return format_html('<span class="mark mark-{}"><b aria-hidden="true">{}</b> {}</span>', css, sign, label or word)


@register.simple_tag
def simulated_badge(simulated: object) -> SafeString | str:
    """The striped badge of everything that the simulated reader produced."""
    if not simulated:
        return ""
    return format_html(
        '<span class="badge badge-simulated" title="{}"><span>simulated</span></span>',
        "Produced by a simulated reader: shows what the evidence allows at best, not how good a model is",
    )


@register.simple_tag
def gold_seen_badge(gold_seen: object) -> SafeString | str:
    """The badge of a run whose agent was brought by somebody who had read the answers of its dataset."""
    if not gold_seen:
        return ""
    return format_html(
        ' <span class="badge badge-warn" title="{}">gold seen</span>',
        "Who brought this agent had been shown answers of this dataset before the run was opened",
    )


@register.simple_tag
def invalid_badge(dataset: Dataset) -> SafeString | str:
    """The badge of a dataset's version that fails its checks, and of every run on it."""
    if not dataset.failed_gates:
        return ""
    names = "; ".join(row["name"] for row in dataset.failed_gates)
    return format_html(' <span class="badge badge-warn" title="{}">invalid dataset</span>', f"It fails: {names}")


@register.simple_tag
def method(name: str) -> SafeString:
    return format_html(
        '<span class="method"><i class="dot {}"></i><span class="long">{}</span><span class="short">{}</span></span>',
        numbers.method_class(name), numbers.method_label(name), numbers.method_short(name),
    )  # fmt: skip


@register.simple_tag
def measure(value: Mapping[str, Any] | None, reason: str = "", beside: int | None = None) -> SafeString:
    """0.78 (0.74–0.81); a dash with its reason where there is no value, and for an interval that is missing.

    n is in the title and for screen readers. ``beside``: the n that stands in the row already; another is written.
    An estimate of humans' grades is its own mean.
    """
    mean = (value or {}).get("mean", (value or {}).get("estimate"))
    if not value or mean is None:
        why = (value or {}).get("reason") or reason or (value or {}).get("why") or "nothing was evaluated"
        return format_html('<span class="missing" title="{0}">–<span class="sr"> {0}</span></span>', why)
    n = value.get("n", value.get("n_human"))
    interval = numbers.interval(value)
    if not interval:
        why = value.get("reason") or "no interval: one persona says nothing of others"
        interval = format_html('<span title="{0}">(–)<span class="sr"> {0}</span></span>', why)
    count = format_html(" n {}", n) if beside is not None and n != beside else _for_readers(n)
    return format_html(
        '<span class="measure" title="n = {}">{} <span class="interval">{}{}</span></span>',
        n, numbers.share(mean), interval, count,
    )  # fmt: skip


@register.simple_tag
def difference(value: Mapping[str, Any]) -> SafeString:
    """+0.20 (+0.16 to +0.24) with n on hover."""
    if value.get("difference") is None:
        return measure(None, "no unit that both have scored")
    return format_html(
        '<span class="measure" title="n = {}">{} <span class="interval">{}{}</span></span>',
        value["n"], numbers.signed(value["difference"]), numbers.interval(value, sign=True), _for_readers(value["n"]),
    )  # fmt: skip


def _for_readers(n: int | None) -> SafeString:
    return format_html('<span class="sr"> n = {}</span>', n)


@register.simple_tag
def bar(value: float | None, css: str = "", of: float = 1.0) -> SafeString:
    """A bar of ``value`` out of ``of``; the number itself stands beside it in text."""
    filled = 0.0 if not value or not of else max(0.0, min(1.0, value / of))
    return format_html(
        '<svg class="bar {}" aria-hidden="true"><rect width="{}%" height="100%"></rect></svg>',
        css, f"{filled * 100:.2f}",
    )  # fmt: skip


@register.simple_tag
def withheld(cell: Mapping[str, Any]) -> str:
    """Why a cell has no headline number, or ""."""
    return numbers.withheld(cell)


register.filter("share", numbers.share)
register.filter("plain_number", numbers.plain)
register.filter("interval", numbers.interval)
register.filter("p_value", numbers.p_value)
register.filter("pair_words", numbers.pair_words)
register.filter("signed", numbers.signed)
register.filter("percent", numbers.percent)
register.filter("usd", numbers.usd)
register.filter("seconds", numbers.seconds)
register.filter("method_label", numbers.method_label)
register.filter("method_short", numbers.method_short)
register.filter("method_class", numbers.method_class)
register.filter("action_words", numbers.action_words)
register.filter("tier_words", numbers.tier_words)
register.filter("leeway", numbers.leeway)
register.filter("audit_words", numbers.audit_words)
register.filter("stage_words", numbers.stage_words)


@register.filter
def retired_since(dataset: Dataset, moment: datetime) -> int:
    """How many of the version's checkpoints that are retired now were retired after ``moment``."""
    return dataset.errata.in_force().filter(retired_at__gt=moment).count()


@register.filter
def signed_interval(value: Mapping[str, Any]) -> str:
    """(−0.03 to +0.20)."""
    return numbers.interval(value, sign=True)


@register.filter
def spaced(name: object) -> str:
    """ "call_limit" as people write it."""
    return str(name).replace("_", " ")


@register.filter
def view_words(view: str) -> str:
    """Whose verdicts count, as people say it."""
    return {"ai": "AI only", "human": "human only"}.get(view, "combined")


@register.filter
def stages_words(stages: str) -> str:
    """Words for a comma-separated list of stages."""
    return " or ".join(numbers.stage_words(stage) for stage in stages.split(","))


@register.filter
def pretty_json(value: object) -> str:
    return json.dumps(value, indent=2, ensure_ascii=False, default=str)


@register.filter
def plainly(value: object) -> str:
    """A JSON value in one line without brackets."""
    if isinstance(value, Mapping):
        return ", ".join(f"{spaced(name)}: {plainly(inner)}" for name, inner in value.items() if inner)
    return ", ".join(map(plainly, value)) if isinstance(value, list | tuple) else str(value)


@register.filter
def item(mapping: Mapping[str, Any] | None, key: str) -> Any:
    """``mapping[key]``, or None."""
    return (mapping or {}).get(key)
