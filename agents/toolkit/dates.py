"""Dates and durations in plain English, read relative to a day.

A span is half open: ``since`` is the first moment, ``until`` the midnight after
the last day. All times are aware (UTC), as everywhere in the contract.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import date, datetime, time, timedelta
from functools import lru_cache

from dateutil.relativedelta import relativedelta

WEEKDAYS = ("monday", "tuesday", "wednesday", "thursday", "friday", "saturday", "sunday")
MONTHS = ("january", "february", "march", "april", "may", "june",
          "july", "august", "september", "october", "november", "december")  # fmt: skip
SEASONS = {"spring": 3, "summer": 6, "autumn": 9, "fall": 9, "winter": 12}
NUMBERS = {"a": 1, "an": 1, "one": 1, "two": 2, "three": 3, "four": 4, "five": 5, "six": 6, "seven": 7,
           "eight": 8, "nine": 9, "ten": 10, "eleven": 11, "twelve": 12, "couple of": 2, "few": 3}  # fmt: skip

_NUM = r"(?:\d{1,3}|a couple of|" + "|".join(sorted(NUMBERS, key=len, reverse=True)) + r")"
_MON = r"(?:" + "|".join(f"{m}|{m[:3]}" for m in MONTHS) + r")"
_WDAY = r"(?:" + "|".join(f"{d}|{d[:3]}" for d in WEEKDAYS) + r")"
_UNIT = r"(?:day|night|week|fortnight|month|year)s?"

_DAY = re.compile(
    rf"\b(?P<iso>\d{{4}}-\d{{2}}-\d{{2}})\b"
    rf"|\b(?:(?P<wd>{_WDAY})\s+)?(?:the\s+)?(?P<d1>\d{{1,2}})(?:st|nd|rd|th)?\s+(?:of\s+)?(?P<m1>{_MON})\b(?:\s+(?P<y1>\d{{4}}))?"
    rf"|\b(?P<m2>{_MON})\s+(?P<d2>\d{{1,2}})(?:st|nd|rd|th)?\b(?:,?\s+(?P<y2>\d{{4}}))?"
    rf"|\b(?:(?P<wd3>{_WDAY})\s+)?(?:the\s+)?(?P<d3>\d{{1,2}})(?:st|nd|rd|th)\b"
    rf"|\b(?:(?P<rel>next|last|this)\s+)?(?P<wd4>{'|'.join(WEEKDAYS)})\b"
    rf"|\b(?P<word>today|tonight|tomorrow|yesterday)\b",
    re.IGNORECASE,
)
_PERIOD = re.compile(
    rf"\b(?P<rel>last|this|next|past)\s+(?P<unit>week|weekend|month|year|spring|summer|autumn|fall|winter|{_MON})\b"
    rf"|\b(?:in|during|since|back in)\s+(?P<month>{'|'.join(MONTHS)})\b(?:\s+(?P<year>\d{{4}}))?"
    rf"|\b(?P<ago>{_NUM})\s+(?P<agounit>{_UNIT})\s+ago\b",
    re.IGNORECASE,
)
_FOR = re.compile(rf"\bfor\s+(?:the\s+)?(?:next\s+)?(?:about\s+)?(?P<n>{_NUM})\s+(?P<unit>{_UNIT})\b", re.IGNORECASE)
_BARE = re.compile(  # not "a": "twice a week" is no span of time
    rf"\b(?P<n>(?!an?\b){_NUM})[\s-]+(?P<unit>{_UNIT})\b(?!\s+(?:ago|old|later|running|in a row|before|since|back)\b)",
    re.IGNORECASE,
)
_FORTNIGHT = re.compile(r"\b(?:for\s+)?(?:a|the next)\s+fortnight\b", re.IGNORECASE)
_UNTIL = re.compile(r"\b(?:until|till|til|'til|through|thru|up to|back on|ends?(?: on)?|over on)\s+", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class Span:
    """A half-open range of time and the words that named it."""

    since: datetime
    until: datetime
    phrase: str


def find_spans(text: str, now: datetime) -> tuple[Span, ...]:
    """Every date or period that ``text`` names, as spans; days without a year lie near ``now``."""
    spans = [_period_span(match, now) for match in _PERIOD.finditer(text)]
    taken = [match.span() for match in _PERIOD.finditer(text)]
    for match in _DAY.finditer(text):
        if any(start < match.end() and match.start() < end for start, end in taken):
            continue
        day = _day_of(match, now.date())
        if day is not None:
            spans.append(_span(day, day + timedelta(days=1), match.group(0), now))
    return tuple(sorted(spans, key=lambda span: (span.since, span.until)))


def find_days(text: str, now: datetime) -> tuple[date, ...]:
    """Single days that ``text`` names, in the order of the text; the next such day on or after ``now``."""
    found = (_day_of(match, now.date()) for match in _DAY.finditer(text))
    return tuple(day for day in found if day is not None)


def action_day(request: str, now: datetime) -> datetime:
    """The start of the first day that a request names, if that lies ahead; else ``now``."""
    ahead = [day for day in find_days(request, now) if day > now.date()]
    return datetime.combine(ahead[0], time(), now.tzinfo) if ahead else now


@lru_cache(maxsize=20_000)
def validity(text: str, at: datetime) -> Span | None:
    """The limited time that a text of day ``at`` announces ("until the 14th", "for eight days"), or None."""
    for match in _UNTIL.finditer(text):
        day_match = _DAY.match(text, match.end())
        if day_match is None:
            continue
        day = _day_of(day_match, at.date())
        if day is not None and at.date() <= day <= at.date() + timedelta(days=200):
            return _span(at.date(), day + timedelta(days=1), text[match.start() : day_match.end()], at)
    duration = _FOR.search(text)
    if duration is not None:
        end = at.date() + _length(duration["n"], duration["unit"])
        return _span(at.date(), end, duration.group(0), at)
    fortnight = _FORTNIGHT.search(text)
    if fortnight is not None:
        return _span(at.date(), at.date() + timedelta(days=14), fortnight.group(0), at)
    return None


SOON, LONGEST_AHEAD = timedelta(days=2), timedelta(days=60)


@lru_cache(maxsize=20_000)
def announced(text: str, at: datetime) -> Span | None:
    """The time of some days that a text of day ``at`` may speak of, or None.

    That is its ``validity``; else it lasts as long as a duration in it ("18 nights"), or until the furthest day ahead
    that it names ("boot comes off Monday the 15th"), each beyond tomorrow and of 60 days at most.
    """
    span = validity(text, at)
    if span is None:
        today = at.date()
        ends = [(today + _length(match["n"], match["unit"]), match.group(0)) for match in _BARE.finditer(text)]
        named = ((match, _day_of(match, today)) for match in _DAY.finditer(text))
        ends += [(day + timedelta(days=1), match.group(0)) for match, day in named if day is not None]
        ends = [(end, phrase) for end, phrase in ends if SOON < end - today <= LONGEST_AHEAD]
        if not ends:
            return None
        span = _span(today, *max(ends), at)
    return span if span.until - span.since > timedelta(days=1) else None


def search_window(text: str, now: datetime) -> tuple[datetime, datetime] | None:
    """The past that a request asks about ("last spring", "two weeks ago"), or None. Never beyond ``now``."""
    past = [_period_span(match, now) for match in _PERIOD.finditer(text)]
    past = [span for span in past if span.since < now]
    if not past:
        return None
    return min(span.since for span in past), min(now, max(span.until for span in past))


def _day_of(match: re.Match[str], today: date) -> date | None:
    parts = match.groupdict()
    if parts["iso"]:
        return _date(*(int(number) for number in parts["iso"].split("-")))
    if parts["word"]:
        return today + timedelta(days={"tomorrow": 1, "yesterday": -1}.get(parts["word"].lower(), 0))
    if parts["wd4"]:
        return _weekday(parts["wd4"], parts["rel"], today)
    for day, month, year in ((parts["d1"], parts["m1"], parts["y1"]), (parts["d2"], parts["m2"], parts["y2"])):
        if day and month:
            return _day_of_month(int(day), _month(month), int(year) if year else None, today)
    return _next_numbered_day(int(parts["d3"]), parts["wd3"], today)


def _weekday(name: str, relation: str | None, today: date) -> date:
    ahead = (_index(WEEKDAYS, name) - today.weekday()) % 7
    if relation and relation.lower() == "last":
        return today - timedelta(days=(7 - ahead) % 7 or 7)
    if relation and relation.lower() == "next" and ahead == 0:
        return today + timedelta(days=7)
    return today + timedelta(days=ahead)


def _day_of_month(day: int, month: int, year: int | None, today: date) -> date | None:
    """Without a year: the one of last, this and next year that lies nearest, a little ahead preferred."""
    years = [year] if year else [today.year - 1, today.year, today.year + 1]
    options = [found for found in (_date(number, month, day) for number in years) if found is not None]
    if not options:
        return None
    return min(options, key=lambda found: abs((found - today).days - 60))


def _next_numbered_day(day: int, weekday: str | None, today: date) -> date | None:
    for step in range(13):
        first = today.replace(day=1) + relativedelta(months=step)
        found = _date(first.year, first.month, day)
        if found is None or found < today:
            continue
        if weekday is None or found.weekday() == _index(WEEKDAYS, weekday):
            return found
    return None


def _period_span(match: re.Match[str], now: datetime) -> Span:
    since, until = _period_days(match.groupdict(), now.date())
    return _span(since, until, match.group(0), now)


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
    return _index(MONTHS, name) + 1


def _index(names: tuple[str, ...], name: str) -> int:
    return next(number for number, full in enumerate(names) if full.startswith(name.lower()[:3]))


def _date(year: int, month: int, day: int) -> date | None:
    try:
        return date(year, month, day)
    except ValueError:
        return None


def _span(since: date, until: date, phrase: str, now: datetime) -> Span:
    return Span(datetime.combine(since, time(), now.tzinfo), datetime.combine(until, time(), now.tzinfo), phrase)


def phrases(text: str) -> Iterator[tuple[int, int]]:
    """Where dates, periods and durations stand in ``text`` (start, end), so that numbers in them are not counted."""
    for pattern in (_DAY, _PERIOD, _FOR):
        for match in pattern.finditer(text):
            yield match.span()
