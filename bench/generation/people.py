"""Who somebody is: drawn from facts that fit together, so that no two people of a dataset are alike."""

from __future__ import annotations

import re
import unicodedata
from dataclasses import dataclass
from random import Random

from bench.catalogue import Catalogue, Person
from bench.catalogue.facts import Fact
from bench.catalogue.people import Country, Occupation
from bench.generation.changes import draw_changes

PUPILS, STUDENTS, PENSIONERS = 3, 12, 24  # of 100; the others work
_OLDEST = 90
_PLAIN = str.maketrans({"ø": "o", "Ø": "O", "ł": "l", "Ł": "L", "ı": "i", "ß": "ss", "æ": "ae", "đ": "d"})


@dataclass
class _Draft:
    """A person in the making."""

    rng: Random
    facts: set[str]
    children: tuple[int, ...] = ()  # ages of those at home

    def chance(self, percent: float, *facts: str) -> bool:
        """Whether it is so; then these facts hold."""
        so = self.rng.random() * 100 < percent
        if so:
            self.facts.update(facts)
        return so

    def one(self, *choices: tuple[int, str]) -> str:
        """A name by weight."""
        return self.rng.choices([name for _, name in choices], [weight for weight, _ in choices])[0]


def draw_person(catalogue: Catalogue, index: int, taken: set[str], rng: Random) -> Person:
    """The person at this place of a dataset; ``taken`` holds the names that are given away already."""
    order = sorted(catalogue.countries, key=lambda country: country.slug)
    Random(index // len(order)).shuffle(order)  # noqa: S311 (reproducible draws, not secrets)
    country = order[index % len(order)]
    draft = _Draft(rng, {trait.value for trait in country.traits})
    she = rng.random() < 0.52
    name = _name(country, she, taken, rng)
    occupation, age = _work(catalogue, draft)
    _age(draft, age)
    household = _household(draft, age)
    home = _home(draft, age)
    _means(draft, age)
    _body(draft, age)
    _habits(draft, age, country)
    job = f"retired {occupation.name}" if "retired" in draft.facts else occupation.name
    town = rng.choice(country.towns)
    changes = draw_changes(catalogue, draft.facts, age, rng)
    passing = {fact.value for change in changes for fact in change.before}
    return Person(
        slug=_slug(name),
        name=name,
        age=age,
        job=job,
        town=f"{town}, {country.name}" if "city" in draft.facts else f"a village near {town}, {country.name}",
        timezone=country.timezone,
        country=country.slug,
        household=f"{household}; {home}",
        first_language=country.language,
        tech=rng.choices(("low", "medium", "high"), (60, 35, 5) if age >= 70 else (10, 50, 40))[0],
        habits=tuple(rng.sample(catalogue.habits, rng.randint(2, 3))),
        tags=tuple(fact for fact in Fact if fact.value in draft.facts - passing),
        changes=changes,
        children=draft.children,
        gender="she" if she else "he",
    )


def _name(country: Country, she: bool, taken: set[str], rng: Random) -> str:
    given = country.women if she else country.men
    plain = [f"{first} {last}" for first in given for last in country.families]
    double = [f"{a} {b} {last}" for a in given for b in given if a != b for last in country.families]
    free = [name for name in plain if name not in taken] or [name for name in double if name not in taken]
    if not free:
        raise ValueError(f"countries.yaml: {country.slug} has no name left; add given or family names")
    name = rng.choice(free)
    taken.add(name)
    return name


def _slug(name: str) -> str:
    plain = unicodedata.normalize("NFKD", name.translate(_PLAIN)).encode("ascii", "ignore").decode().lower()
    return re.sub(r"[^a-z0-9]+", "_", plain).strip("_")


def _work(catalogue: Catalogue, draft: _Draft) -> tuple[Occupation, int]:
    """What somebody does or did, and an age at which one does."""
    rng, place = draft.rng, draft.rng.randrange(100)
    learning = [o for o in catalogue.occupations if Fact.STUDENT in o.kind]
    working = [o for o in catalogue.occupations if Fact.STUDENT not in o.kind]
    if place < PUPILS + STUDENTS:
        pupils = [o for o in learning if (o.ages[0] < 18) == (place < PUPILS)]
        occupation = rng.choice(pupils or learning)
        draft.facts.update(fact.value for fact in occupation.kind)
        return occupation, rng.randint(*occupation.ages)
    occupation = rng.choice(working)
    if place < PUPILS + STUDENTS + PENSIONERS:
        draft.facts |= {"retired", "pension"} | ({"drives"} if Fact.DRIVES in occupation.kind else set())
        return occupation, rng.randint(62, _OLDEST)
    draft.facts.update(fact.value for fact in occupation.kind)
    return occupation, rng.randint(*occupation.ages)


def _age(draft: _Draft, age: int) -> None:
    for fact, holds in (("young", age < 30), ("older", age >= 60), ("very_old", age >= 78)):
        if holds:
            draft.facts.add(fact)


def _household(draft: _Draft, age: int) -> str:
    draft.chance(100 - max(0, age - 35) * 3, "mother_alive")
    draft.chance(70, "sibling")
    if age <= 18:
        draft.facts.add("single")
        return "with both parents"
    paired = draft.chance(12 if age < 23 else 40 if age < 30 else 70 if age < 75 else 45)
    if not paired:
        draft.facts.add("single")
    else:
        draft.facts |= {"partner", draft.one((1, "partner_she"), (1, "partner_he"))}
    draft.children = _children(draft, age, paired)
    if age >= 48 and draft.chance(75, "grown_children"):
        draft.chance(60 if age >= 58 else 0, "grandparent")
    others = [f"a partner ({'she' if 'partner_she' in draft.facts else 'he'})"] if paired else []
    others += [f"a child of {years}" if years else "a baby" for years in draft.children]
    if others:
        return "with " + ", ".join(others)
    if age < 32 and draft.chance(50, "flatshare"):
        return "shared flat"
    draft.facts.add("lives_alone")
    return "alone"


def _children(draft: _Draft, age: int, paired: bool) -> tuple[int, ...]:
    """Ages of the children at home, the oldest first; nobody became a parent before 21 or after 45."""
    if not 24 <= age <= 58 or not draft.chance(65 if paired else 18):
        return ()
    oldest = draft.rng.randint(max(0, age - 42), min(17, age - 21)) if age - 42 <= 17 else -1
    if oldest < 0:
        return ()
    ages = [oldest]
    while ages[-1] >= 2 and len(ages) < 3 and draft.rng.random() < 0.5:
        next_one = max(0, ages[-1] - draft.rng.randint(2, 4))
        if age - next_one > 45:
            break
        ages.append(next_one)
    draft.facts |= {"parent"} | {_stage(years) for years in ages} | ({"two_children"} if len(ages) > 1 else set())
    return tuple(ages)


def _stage(years: int) -> str:
    return "baby" if years <= 2 else "small_child" if years <= 5 else "school_child" if years <= 12 else "teenager"


def _home(draft: _Draft, age: int) -> str:
    draft.facts.add(draft.one((65, "city"), (35, "village")))
    shared = "flatshare" in draft.facts
    grown = age >= 30 and not shared
    house = not shared and draft.chance(75 if "village" in draft.facts else 35 if grown else 15)
    draft.facts.add("house" if house else "flat")
    if house:
        draft.chance(85, "garden")
    elif draft.chance(20, "ground_floor"):
        draft.chance(30, "garden")
    else:
        draft.facts.add("upper_floor")
        draft.chance(50, "balcony")
    if age > 18:
        owns = not shared and "student" not in draft.facts and draft.chance(25 if age < 35 else 60)
        draft.facts.add("owner" if owns else "renter")
        if owns and age < 64:
            draft.chance(60, "mortgage")
    if draft.chance(30, "pet"):
        draft.facts.add(draft.one((1, "dog"), (1, "cat")))
    kind = "house" if house else "flat on the ground floor" if "ground_floor" in draft.facts else "flat upstairs"
    return f"{kind}{' with a garden' if 'garden' in draft.facts else ''}"


def _means(draft: _Draft, age: int) -> None:
    """Money, getting about, things."""
    if age <= 18 or "student" in draft.facts or "pension" in draft.facts:
        draft.chance(35, "tight")
    elif not draft.chance(20, "tight"):
        draft.chance(35, "comfortable")
    if age >= 18:
        draft.chance(75, "drives")
    if "drives" in draft.facts and 20 <= age < 84:
        draft.chance(85 if "village" in draft.facts else 55, "car")
    if "car" not in draft.facts:
        draft.facts.add("transit")
    draft.chance(30, "transit")
    draft.chance(45 if age < 75 else 8, "bike")
    draft.chance(45, "flies")
    for fact, percent in (("dishwasher", 50), ("washer", 85), ("television", 80), ("laptop", 60), ("instrument", 12)):
        draft.chance(percent, fact)
    draft.chance(28 if age < 60 else 6, "smartwatch")
    draft.chance(35 if age < 40 else 4, "console")


def _body(draft: _Draft, age: int) -> None:
    older = max(0, age - 40)
    for fact, percent in (
        ("glasses", 35 + older), ("asthma", 8), ("migraine", 12), ("bad_back", 10 + older / 2),
        ("bad_knee", 4 + older / 2), ("blood_pressure", 3 + older), ("diabetes", 2 + older / 4),
        ("hearing_aid", max(0, age - 62)),
    ):  # fmt: skip
        draft.chance(percent, fact)
    if draft.facts & {"blood_pressure", "diabetes"}:
        draft.facts.add("medication")


def _habits(draft: _Draft, age: int, country: Country) -> None:
    draft.chance(28, "observant")
    draft.chance(7, "no_pork")
    draft.chance(8, "vegetarian")
    if age >= 18:
        draft.chance(62, "drinks")
        draft.chance(15, "smokes")
    sound = not draft.facts & {"bad_knee", "bad_back", "very_old"}
    draft.chance(18 if sound and age < 68 else 0, "runs")
    draft.chance(15 if sound and age < 48 else 0, "football")
    for fact, percent in (("choir", 9), ("swims", 16), ("allotment", 8), ("reads", 50), ("cooks", 50)):
        draft.chance(percent, fact)
    draft.facts.add("native_english" if country.language == "English" else "second_language")
