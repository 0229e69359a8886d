"""What stands in the slots of a text: the names around a person, and amounts, times and days drawn anew."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from itertools import pairwise
from random import Random

from bench.catalogue import Person
from bench.catalogue.people import Country
from bench.catalogue.texts import TEXT_SLOT

_OTHERS = ("child", "child2", "friend", "friend2", "neighbour", "colleague", "sibling")


@dataclass(frozen=True)
class Cast:
    """The names in one life, the same in every text of it. ``rate``: of the currency, see Country."""

    names: Mapping[str, str]
    rate: float


def cast_of(person: Person, country: Country, rng: Random) -> Cast:
    given = [name for name in (*country.women, *country.men) if name not in person.name.split()]
    rng.shuffle(given)
    she = "partner_she" in person.tags
    partners = [name for name in (country.women if she else country.men) if name in given]
    partner = partners[0] if partners else given[0]
    rest = [name for name in given if name != partner]
    family = rng.choice(country.families)
    doctors = rng.sample(country.families, 2)
    town = person.town.removeprefix("a village near ").split(",")[0]
    street = rng.choice(country.streets)
    shop = rng.choice(country.shops)
    doubles = [f"{one} {other}" for one, other in pairwise(country.women)]  # where names run out, as in draw_person
    people = dict(zip(_OTHERS, [*rest, *doubles], strict=False))
    names = people | {
        "partner": partner,
        "boss": f"{rest[-1]} {family}",
        "pet": rng.choice(("Pixel", "Momo", "Bruno", "Tinker", "Luna", "Biscuit", "Kiki", "Otto")),
        "mother": "Mum" if country.language == "English" else "Mama",
        "doctor": f"Dr. {doctors[0]}",
        "dentist": f"Dr. {doctors[1]}",
        "town": town,
        "town2": next(other for other in country.towns if other != town),
        "country": country.name,
        "street": street,
        "shop": shop,
        "pharmacy": f"{family} pharmacy",
        "cafe": f"Café {rng.choice(country.women)}",
        "bank": f"{town} Savings",
        "employer": f"{rng.choice(country.families)} & {rng.choice(country.families)}",
        "school": f"{street} School",
        "line": rng.choice(country.transport),
        "cur": country.currency,
    }
    return Cast(names, country.rate)


@dataclass(frozen=True)
class Usual:
    """What comes back the same in a routine's text: the slots of these names, as they were filled the first time."""

    names: frozenset[str] = frozenset()
    first: dict[tuple[str, str], int] = field(default_factory=dict)

    def drawn(self, name: str, low: int, high: int, rng: Random) -> int:
        """Of an amount the cents, of a time the minutes of the day, a few early or late."""
        unit = {"amount": 100, "time": 60}.get(name, 1)
        top = high * 60 + 59 if name == "time" else high * unit
        found = rng.randint(low * unit, top)
        if name not in self.names:
            return found // 5 * 5 if name == "time" else found
        found = self.first.setdefault((name, f"{low}-{high}"), found)
        return min(top, max(low * 60, found + rng.randint(-4, 9))) if name == "time" else found


def filled(text: str, cast: Cast, at: datetime, rng: Random, usual: Usual | None = None) -> str:
    """The text as it stands in this life on this day; what is no slot stays as it is."""
    kept = usual or Usual()

    def fill(name: str, span: str) -> str | None:
        if span:
            low, high = map(int, span.split("-"))
            return _worded(name, kept.drawn(name, low, high, rng), cast.rate)
        days = {"weekday": f"{at:%A}", "date": f"{at.day} {at:%B}", "month": f"{at:%B}", "clock": f"{at:%H:%M}"}
        days["tomorrow"] = f"{at + timedelta(days=1):%A}"
        if name == "ref":
            return f"{rng.randint(10, 99)}-{rng.randint(1000, 9999)}"
        return cast.names.get(name) or days.get(name)

    return TEXT_SLOT.sub(lambda match: fill(match[1], match[2] or "") or match[0], text)


def _worded(name: str, number: int, rate: float) -> str:
    if name == "time":
        return f"{number // 60:02d}:{number % 60:02d}"
    return money(number, rate) if name == "amount" else str(number)


def money(cents: int, rate: float) -> str:
    """An amount of euro cents as it would be written in a currency: whole and rounded where one euro is many."""
    # In whole numbers throughout, so that every machine writes the same.
    scaled = cents * round(rate * 10) // 10
    if rate < 5:
        return f"{scaled // 100}.{scaled % 100:02d}"
    step = 1 if rate < 50 else 10 if rate < 500 else 100
    return str(max(step, scaled // 100 // step * step))
