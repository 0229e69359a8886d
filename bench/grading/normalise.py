"""Argument values brought to one form, so that 25, 25.0 and "25", or "7 pm" and "19:00", are the same.

The tools of a task read their arguments with it too (``bench.runs.world``): what a tool accepts, a rule can read.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Hashable
from datetime import UTC, date, datetime, timedelta, tzinfo
from decimal import Decimal, InvalidOperation


class Unreadable(ValueError):
    """The value cannot be read as the type that the rule names."""


class Ambiguous(ValueError):
    """The value can be read in two ways that differ (03/04/2026, or 1.250 as a thousand or as one and a quarter)."""


_DAY_S = 24 * 3600
LONGEST = 200  # characters of a date, time or number
TYPES = ("date", "time", "integer", "number", "string", "boolean", "list", "weekday")
MEASURED = ("time", "integer", "number")  # types of which two values lie some way apart

_TRUE, _FALSE = {"true", "yes", "y", "1", "on"}, {"false", "no", "n", "0", "off"}
_WORD_LIST = "zero one two three four five six seven eight nine ten eleven twelve"
_WORDS = {word: number for number, word in enumerate(_WORD_LIST.split())}
# unit -> (what it measures, factor to the first unit of its kind)
_UNITS: dict[str, tuple[str, Decimal]] = {
    unit: (kind, Decimal(factor))
    for kind, table in {
        "time": {
            "s sec second": "1",
            "min minute": "60",
            "h hr hour": "3600",
            "d day": "86400",
            "week": "604800",
        },
        "length": {
            "m metre meter": "1",
            "cm": "0.01",
            "km kilometre kilometer": "1000",
            "mi mile": "1609.344",
        },
        "mass": {"g gram gramme": "1", "kg kilo kilogram": "1000", "lb pound": "453.59237"},
        "volume": {"ml": "1", "l litre liter": "1000"},
        "eur": {"eur euro €": "1"},
        "usd": {"usd dollar $": "1"},
        "gbp": {"gbp £": "1"},
        "share": {"% percent": "1"},
    }.items()
    for names, factor in table.items()
    for unit in names.split()
}
_MONTH_LIST = (
    "jan january|feb february|mar march|apr april|may|jun june|"
    "jul july|aug august|sep sept september|oct october|nov november|dec december"
)
_MONTHS = {name: n for n, names in enumerate(_MONTH_LIST.split("|"), start=1) for name in names.split()}
_NUMBER = re.compile(r"(?P<before>[^\d\s.,+-]*)\s*(?P<digits>[+-]?\d[\d.,']*)\s*(?P<after>[^\d]*)")
_MINUS = str.maketrans(dict.fromkeys("\u2010\u2011\u2012\u2013\u2014\u2212\ufe63\uff0d", "-"))
_GROUPED_BY_SPACE = re.compile(r"(?<![\d.,])\d{1,3}(?: \d{3})+(?![\d ])")
_CLOCK = re.compile(r"(?P<hour>\d{1,2})(?:[:.h](?P<minute>\d{2})?)?(?::(?P<second>\d{2}))?\s*(?P<half>[ap]\.?m\.?)?")
_NUMERIC_DATE = re.compile(r"(\d{1,2})([./-])(\d{1,2})\2(\d{4})")
_YEAR_FIRST = re.compile(r"(\d{4})([./-])(\d{1,2})\2(\d{1,2})")
_WEEKDAYS = re.compile(r"\b(mon|tues?|wed(nes)?|thu(rs)?|fri|sat(ur)?|sun)(day)?\b")


def normalise(value: object, kind: str, *, as_of: datetime, unit: str = "", unordered: bool = False) -> Hashable:
    """The value as a comparable object: two values mean the same exactly where their forms are equal.

    ``kind`` is one of TYPES; ``as_of`` gives the time zone and the year of a
    date without one; ``unit`` is the unit of a bare number; ``unordered``
    drops the order of a list. Raises Unreadable, Ambiguous, or ValueError
    for an unknown type or unit.
    """
    if kind == "list":
        items = [normalise_text(item) for item in _as_list(value)]
        return tuple(sorted(items) if unordered else items)
    if kind == "date":
        return _date(value, as_of)
    if kind == "time":
        return _time(value, as_of.tzinfo)
    if kind in ("integer", "number"):
        return _number(value, unit, whole=kind == "integer")
    if kind == "boolean":
        return _boolean(value)
    if kind == "weekday":
        return _weekday(value)
    if kind == "string":
        return normalise_text(value)
    raise ValueError(f"unknown type {kind!r} in a rule; there are {', '.join(TYPES)}")


def close(one: Hashable, other: Hashable, kind: str, within: Decimal) -> bool:
    """Whether two forms of ``normalise`` lie ``within`` of each other: minutes of a time, else units of a number.

    Times go round midnight. Of other types, and where nothing lies within, only equal forms are close.
    """
    if kind == "time" and isinstance(one, int) and isinstance(other, int):
        apart = abs(one - other)
        return min(apart, _DAY_S - apart) <= within * 60
    if kind in MEASURED and isinstance(one, tuple) and isinstance(other, tuple):
        return bool(one[0] == other[0] and abs(one[1] - other[1]) <= within)
    return one == other


def normalise_text(value: object) -> str:
    """Case, width, white space, hyphens and underscores made alike. 25.0 reads as "25"."""
    if isinstance(value, float) and value.is_integer():
        value = int(value)
    if isinstance(value, dict | list):
        raise Unreadable(f"{value!r} is not a text")
    text = unicodedata.normalize("NFKC", str(value)).casefold()
    return " ".join(re.sub(r"[_\-\u2010-\u2015]", " ", text).split())


def same_text(stored: object, given: object) -> bool:
    """Whether both read alike as texts. This is also how an item's id is found, by tool, rule and page."""
    try:
        return normalise_text(stored) == normalise_text(given)
    except Unreadable:
        return False


def _as_list(value: object) -> list[object]:
    if isinstance(value, list | tuple):
        return list(value)
    if isinstance(value, str):
        return [part for part in re.split(r"[,;\n]", value) if part.strip()]
    return [value]


def _boolean(value: object) -> bool:
    text = str(value).strip().casefold()
    if text in _TRUE | _FALSE:
        return text in _TRUE
    raise Unreadable(f"{value!r} is neither true nor false")


def _weekday(value: object) -> int:
    """Monday is 0."""
    named = _WEEKDAYS.fullmatch(_plain(value).rstrip(".").removesuffix("s")) or _WEEKDAYS.fullmatch(_plain(value))
    if not named:
        raise Unreadable(f"{value!r} is not a day of the week")
    return ("mon", "tue", "wed", "thu", "fri", "sat", "sun").index(named[1][:3])


def _number(value: object, unit: str, *, whole: bool) -> tuple[str, Decimal]:
    """(what is measured, amount in its base unit); ("", amount) where no unit is known."""
    amount, written = _read_number(value)
    kind, factor = _unit(written or unit)
    if unit and written and kind != _unit(unit)[0]:
        raise Unreadable(f"{value!r} is not in {unit}")
    if written and not unit:
        raise Unreadable(f"{value!r} has a unit where none is asked for")
    if whole and amount != amount.to_integral_value():
        raise Unreadable(f"{value!r} is not a whole number")
    return kind, (amount * factor).normalize() + 0  # + 0 makes -0 and 0 alike


def _read_number(value: object) -> tuple[Decimal, str]:
    if isinstance(value, bool):
        raise Unreadable(f"{value!r} is not a number")
    text = _plain(value)
    if text in _WORDS:
        return Decimal(_WORDS[text]), ""
    if isinstance(value, int | float):
        return _decimal(text), ""
    text = _GROUPED_BY_SPACE.sub(lambda found: found[0].replace(" ", ""), re.sub(r"^- +", "-", text))
    found = _NUMBER.fullmatch(text)
    if not found or (found["before"] and found["after"].strip()):
        raise Unreadable(f"{value!r} is not a number")
    return _decimal(_point(value, found["digits"])), found["before"] or found["after"].strip().rstrip(".")


def _point(value: object, digits: str) -> str:
    """The digits with a point for the decimals and nothing between thousands. A lone comma groups, as in English."""
    if re.fullmatch(r"[+-]?\d{1,3}('\d{3})+([.,]\d+)?", digits):
        digits = digits.replace("'", "")
    if re.fullmatch(r"[+-]?\d{1,3}(,\d{3})+(\.\d+)?", digits):
        return digits.replace(",", "")
    if re.fullmatch(r"[+-]?\d{1,3}((\.\d{3}){2,}(,\d+)?|\.\d{3},\d+)", digits):
        return digits.replace(".", "").replace(",", ".")
    if re.fullmatch(r"[+-]?[1-9]\d{0,2}\.\d{3}", digits):
        raise Ambiguous(f"{value!r} may be {digits.replace('.', '')} or {digits} with a decimal point")
    return digits.replace(",", ".") if re.fullmatch(r"[+-]?\d+,\d{1,2}", digits) else digits


def _plain(value: object) -> str:
    """Width, case, kinds of space and minus made alike."""
    if isinstance(value, str) and len(value) > LONGEST:
        raise Unreadable(f"{value[:20]!r}... is longer than {LONGEST} characters")
    return " ".join(unicodedata.normalize("NFKC", str(value).translate(_MINUS)).casefold().split())


def _decimal(text: str) -> Decimal:
    try:
        number = Decimal(text)
    except InvalidOperation:
        raise Unreadable(f"{text!r} is not a number") from None
    if not number.is_finite():
        raise Unreadable(f"{text!r} is not a number")
    return number


def _unit(name: str) -> tuple[str, Decimal]:
    if not name:
        return "", Decimal(1)
    key = name.strip().casefold()
    for form in (key, key.removesuffix("s"), key.removesuffix("es")):
        if form in _UNITS:
            return _UNITS[form]
    return key.removesuffix("s"), Decimal(1)  # "passengers", "nights": a unit of its own


def _time(value: object, zone: tzinfo | None) -> int:
    """Seconds since midnight."""
    text = _plain(value)
    named = {"noon": 43200, "midday": 43200, "midnight": 0}
    if text in named:
        return named[text]
    moment = _iso_moment(text, zone)
    if moment and ("t" in text or " " in text):
        return moment.hour * 3600 + moment.minute * 60 + moment.second
    found = _CLOCK.fullmatch(text)
    if not found or not (found["minute"] or found["half"] or "h" in text):
        raise Unreadable(f"{value!r} is not a time of day")
    hour, minute, second = int(found["hour"]), int(found["minute"] or 0), int(found["second"] or 0)
    if found["half"]:
        if not 1 <= hour <= 12:
            raise Unreadable(f"{value!r} is not a time of day")
        hour = hour % 12 + (12 if found["half"].startswith("p") else 0)
    if hour > 23 or minute > 59 or second > 59:
        raise Unreadable(f"{value!r} is not a time of day")
    return hour * 3600 + minute * 60 + second


def _iso_moment(text: str, zone: tzinfo | None) -> datetime | None:
    """An ISO date or date and time, in the task's zone; None where the text is neither."""
    try:
        moment = datetime.fromisoformat(text.upper())
        return moment.astimezone(zone or UTC) if moment.tzinfo else moment
    except (ValueError, OverflowError):  # the second at the calendar's ends
        return None


def _date(value: object, as_of: datetime) -> date:
    if isinstance(value, datetime):
        return value.astimezone(as_of.tzinfo or UTC).date() if value.tzinfo else value.date()
    if isinstance(value, date):
        return value
    text = _plain(value)
    relative = {"today": 0, "tomorrow": 1}
    if text in relative:
        return as_of.date() + timedelta(days=relative[text])
    moment = _iso_moment(text, as_of.tzinfo)
    if moment:
        return moment.date()
    year_first = _YEAR_FIRST.fullmatch(text)
    if year_first:
        return _calendar(value, int(year_first[1]), int(year_first[3]), int(year_first[4]))
    numeric = _NUMERIC_DATE.fullmatch(text)
    if numeric:
        return _day_or_month_first(value, int(numeric[1]), int(numeric[3]), int(numeric[4]), numeric[2])
    return _written_date(value, text, as_of)


def _day_or_month_first(value: object, first: int, second: int, year: int, separator: str) -> date:
    """Dots mean day first; with a slash or dash both orders are read, and only one may be a date."""
    if separator == ".":
        return _calendar(value, year, second, first)
    if first <= 12 and second <= 12 and first != second:
        raise Ambiguous(f"{value!r} may be day first or month first")
    return _calendar(value, year, second, first) if second <= 12 else _calendar(value, year, first, second)


def _written_date(value: object, text: str, as_of: datetime) -> date:
    """Such as March 14th, 2026, 14-Mar-2026, or Friday the 14th of March; without a year the next one from as_of."""
    plain = _WEEKDAYS.sub(" ", re.sub(r"[,./-]", " ", text))
    cardinal = re.sub(r"(\d)(st|nd|rd|th)\b", r"\1", plain)
    words = [word for word in cardinal.split() if word not in ("the", "of")]
    months = [_MONTHS[word] for word in words if word in _MONTHS]
    numbers = [int(word) for word in words if word.isdecimal()]
    if len(months) != 1 or len(months) + len(numbers) != len(words) or len(numbers) not in (1, 2):
        raise Unreadable(f"{value!r} is not a date")
    years = [number for number in numbers if number > 31]
    days = [number for number in numbers if number <= 31]
    if len(days) != 1 or len(years) != len(numbers) - 1:
        raise Unreadable(f"{value!r} is not a date")
    if years:
        return _calendar(value, years[0], months[0], days[0])
    for year in range(as_of.year, as_of.year + 9):  # nine years hold a 29 February
        try:
            found = date(year, months[0], days[0])
        except ValueError:
            continue
        if found >= as_of.date():
            return found
    raise Unreadable(f"{value!r} is not a date")


def _calendar(value: object, year: int, month: int, day: int) -> date:
    try:
        return date(year, month, day)
    except ValueError:
        raise Unreadable(f"{value!r} is not a date") from None
