"""The past that a question names in plain English ("last spring", "two weeks ago"), read relative to a day."""

from __future__ import annotations

import re
from datetime import date, datetime, time, timedelta

from dateutil.relativedelta import relativedelta

MONTHS = ("january", "february", "march", "april", "may", "june",
          "july", "august", "september", "october", "november", "december")  # fmt: skip
SEASONS = {"spring": 3, "summer": 6, "autumn": 9, "fall": 9, "winter": 12}
NUMBERS = {"a": 1, "an": 1, "one": 1, "two": 2, "three": 3, "four": 4, "five": 5, "six": 6, "seven": 7,
           "eight": 8, "nine": 9, "ten": 10, "eleven": 11, "twelve": 12, "couple of": 2, "few": 3}  # fmt: skip

_NUM = r"(?:\d{1,3}|a couple of|" + "|".join(sorted(NUMBERS, key=len, reverse=True)) + r")"
_MON = r"(?:" + "|".join(f"{m}|{m[:3]}" for m in MONTHS) + r")"
_UNIT = r"(?:day|night|week|fortnight|month|year)s?"

_PERIOD = re.compile(
    rf"\b(?P<rel>last|this|next|past)\s+(?P<unit>week|weekend|month|year|spring|summer|autumn|fall|winter|{_MON})\b"
    rf"|\b(?:in|during|since|back in)\s+(?P<month>{'|'.join(MONTHS)})\b(?:\s+(?P<year>\d{{4}}))?"
    rf"|\b(?P<ago>{_NUM})\s+(?P<agounit>{_UNIT})\s+ago\b",
    re.IGNORECASE,
)


def search_window(text: str, now: datetime) -> tuple[datetime, datetime] | None:
    """The past that a request asks about ("last spring", "two weeks ago"), or None. Never beyond ``now``."""
    spans = [_period_days(match.groupdict(), now.date()) for match in _PERIOD.finditer(text)]
    past = [(since, until) for since, until in spans if since < now.date()]
    if not past:
        return None
    first, end = min(since for since, _ in past), max(until for _, until in past)
    return _midnight(first, now), min(now, _midnight(end, now))


def _period_days(parts: dict[str, str | None], today: date) -> tuple[date, date]:
    if parts["ago"] and parts["agounit"]:
        day = today - _length(parts["ago"], parts["agounit"])
        slack = _length("1", parts["agounit"]) / 2
        return day - slack, day + slack + timedelta(days=1)
    if parts["month"]:
        month = _month(parts["month"])
        year = int(parts["year"]) if parts["year"] else today.year - (month > today.month)
        return _months(year, month, 1)
    unit, shift = str(parts["unit"]).lower(), {"this": 0, "next": 1}.get(str(parts["rel"]).lower(), -1)
    if unit in {"week", "weekend"}:
        monday = today - timedelta(days=today.weekday()) + timedelta(weeks=shift)
        return (monday + timedelta(days=5 if unit == "weekend" else 0)), monday + timedelta(days=7)
    if unit == "month":
        first = today.replace(day=1) + relativedelta(months=shift)
        return _months(first.year, first.month, 1)
    if unit == "year":
        return _months(today.year + shift, 1, 12)
    return _recurring(unit, shift, today)


def _recurring(unit: str, shift: int, today: date) -> tuple[date, date]:
    """A season or a month, of last, this or next time. The year of "last" is the newest one that is over."""
    start, length = (SEASONS[unit], 3) if unit in SEASONS else (_month(unit), 1)
    spans = [_months(year, start, length) for year in range(today.year - 2, today.year + 3)]
    if shift < 0:
        return max(span for span in spans if span[1] <= today)
    if shift > 0:
        return min(span for span in spans if span[0] > today)
    return min(span for span in spans if span[1] > today)


def _length(number: str, unit: str) -> timedelta:
    word = number.lower().removeprefix("a ") if number.lower() != "a" else "a"
    count = int(word) if word.isdigit() else NUMBERS[word]
    days = {"day": 1, "night": 1, "week": 7, "fortnight": 14, "month": 30, "year": 365}
    return timedelta(days=count * days[unit.lower().removesuffix("s")])


def _months(year: int, month: int, count: int) -> tuple[date, date]:
    first = date(year, month, 1)
    return first, first + relativedelta(months=count)


def _month(name: str) -> int:
    return next(number for number, full in enumerate(MONTHS, 1) if full.startswith(name.lower()[:3]))


def _midnight(day: date, now: datetime) -> datetime:
    return datetime.combine(day, time(), now.tzinfo)
