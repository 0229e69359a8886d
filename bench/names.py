"""Names that become part of an address: checked at the door, or given a slug where the original is kept for display."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterable

from django.utils.text import slugify

_SLUG = re.compile(r"[A-Za-z0-9_-]+")


def check_slug(value: str, what: str, longest: int) -> str:
    """The value, if it can stand in an address. Raises ValueError with the remedy else."""
    if len(value) <= longest and _SLUG.fullmatch(value):
        return value
    shown = value if len(value) <= 60 else f"{value[:60]}..."
    raise ValueError(f"{what} {shown!r}: use 1 to {longest} letters (a to z), digits, - and _")


def slugs_for(names: Iterable[str], longest: int = 80) -> dict[str, str]:
    """Name -> slug, all different. A name that is a slug is its own; others end in a digest where slugs would clash."""
    ordered = list(dict.fromkeys(names))
    found = {name: name for name in ordered if len(name) <= longest and _SLUG.fullmatch(name)}
    taken = set(found)
    for name in sorted(set(ordered) - taken):
        slug = slugify(name)[: longest - 9].strip("-_") or "name"
        if slug in taken:
            slug = f"{slug}-{hashlib.sha256(name.encode()).hexdigest()[:8]}"
        taken.add(slug)
        found[name] = slug
    return found
