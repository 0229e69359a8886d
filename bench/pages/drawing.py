"""The Altair half of charts.py."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import altair as alt
import vl_convert

from bench.pages.charts import IntervalRow

ROW_PX = 26
FONT = "Inter, system-ui, sans-serif"


def interval_svg(rows: Sequence[IntervalRow], low: float, high: float, width_px: int) -> str:
    """A forest plot; with a line at zero where the axis has both signs."""
    chart = alt.layer(*_layers(rows, low, high)).properties(width=width_px, height=len(rows) * ROW_PX)
    chart = chart.configure(
        aria=False, background="transparent", font=FONT, padding=2, autosize={"type": "fit-x", "contains": "padding"}
    )
    svg: str = vl_convert.vegalite_to_svg(chart.configure_view(stroke=None).to_dict())
    return svg


def _layers(rows: Sequence[IntervalRow], low: float, high: float) -> list[alt.Chart]:
    values = [
        {
            "label": row.label, "mean": row.mean, "low": row.low, "high": row.high,
            "colour": row.colour, "fill": "var(--bg)" if row.hollow else row.colour,
        }
        for row in rows
    ]  # fmt: skip
    base = alt.Chart(alt.InlineData(values=values))
    y = alt.Y("label:N", sort=[row.label for row in rows], axis=_label_axis())
    where: dict[str, Any] = {
        "scale": alt.Scale(domain=[low, high], nice=False, clamp=True),
        "axis": _value_axis(signed=low < 0),
        "title": None,
    }
    stroke = alt.Stroke("colour:N", scale=None, legend=None)
    whisker = base.mark_rule(strokeWidth=2, opacity=0.6).encode(
        x=alt.X("low:Q", **where), x2="high:Q", y=y, stroke=stroke
    )
    point = base.mark_point(size=64, opacity=1, strokeWidth=2).encode(
        x=alt.X("mean:Q", **where), y=y, stroke=stroke, fill=alt.Fill("fill:N", scale=None, legend=None)
    )
    if not low < 0 < high:
        return [whisker, point]
    zero = alt.Chart(alt.InlineData(values=[{"zero": 0}])).mark_rule(color="var(--line-strong)")
    return [zero.encode(x=alt.X("zero:Q", **where)), whisker, point]


def _label_axis() -> alt.Axis:
    return alt.Axis(
        title=None,
        domain=False,
        ticks=False,
        labelColor="var(--text)",
        labelFontSize=13,
        labelPadding=12,
        labelLimit=230,
    )


def _value_axis(*, signed: bool) -> alt.Axis:
    return alt.Axis(
        domain=False, ticks=False, gridColor="var(--line)", labelColor="var(--text-2)", labelFontSize=12,
        labelPadding=6, tickCount=5, labelFlush=False, format="+.1f" if signed else ".1f",
        labelExpr="datum.value == 0 ? '0' : datum.label",
    )  # fmt: skip
