"""What changes in a person's circumstances within the year."""

from __future__ import annotations

from datetime import timedelta
from random import Random

from bench.catalogue import Catalogue
from bench.catalogue.facts import Fact
from bench.catalogue.schema import FactChange
from bench.generation.spec import DAYS, START, day_at

CHANGED, AGAIN = 50, 20  # of 100 persons those whose facts change, and of these those whose facts change once more
FROM, UNTIL = 50, DAYS - 50  # days of a change, so that there is a before and an after


def draw_changes(catalogue: Catalogue, facts: set[str], age: int, rng: Random) -> tuple[FactChange, ...]:
    """In order of time; no fact changes twice, and what one change presumes no other changes."""
    count = sum(rng.random() * 100 < chance for chance in (CHANGED, AGAIN))
    open_ = [c for c in catalogue.changes.values() if c.open_to(frozenset(facts), age)]
    rng.shuffle(open_)
    found: list[FactChange] = []
    touched: set[Fact] = set()
    for change in open_:
        leans_on = {*change.needs, *change.excludes, *change.sets}
        days = [day for day in range(FROM, UNTIL) if not change.months or day_at(day).month in change.months]
        if len(found) == count or leans_on & touched or not days:
            continue
        touched |= leans_on
        before = tuple(fact for fact, holds in change.sets.items() if not holds and fact.value in facts)
        after = tuple(fact for fact, holds in change.sets.items() if holds and fact.value not in facts)
        on = (START + timedelta(days=rng.choice(days))).date()
        found.append(FactChange(slug=change.slug, on=on, what=change.name, before=before, after=after))
    return tuple(sorted(found, key=lambda change: (change.on, change.slug)))
