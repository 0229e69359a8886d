"""The outcome of a dataset's checks, written on its version: whether runs may start on it, and what to warn of."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from functools import lru_cache
from pathlib import Path

from django.utils import timezone

from bench.generation.gates import check_dataset
from bench.generation.validity.gate import Gate
from bench.generation.validity.readers import read_shortcuts
from bench.generation.validity.shortcut import Shortcut
from bench.models import Dataset
from bench.models.dataset import CheckRow
from bench.runs.manifest import code_sha256

PLAYED_AT_BUILD = 400  # tasks; check_dataset plays all


def mark(dataset: Dataset, gates: Sequence[Gate], shortcuts: Sequence[Shortcut]) -> None:
    """Store what was found. A shortcut that reaches too far warns, since no rule makes an answer wrong by it."""
    dataset.checks = [*map(_of_gate, gates), *map(_of_shortcut, shortcuts)]
    dataset.valid = not dataset.failed_gates
    dataset.checked_at = timezone.now()
    dataset.checks_sha256 = checks_sha256()
    dataset.save(update_fields=["checks", "valid", "checked_at", "checks_sha256"])


def check_once(dataset: Dataset) -> None:
    """Check and mark a version unless this code has done so. Of large datasets a part of the tasks is played."""
    if dataset.checks_sha256 != checks_sha256():
        mark(dataset, check_dataset(dataset, play_at_most=PLAYED_AT_BUILD), read_shortcuts(dataset))


@lru_cache(maxsize=1)
def checks_sha256() -> str:
    """Hash of what decides a check: its own code, and that of the reader that plays the tasks."""
    here = Path(__file__).parent
    files = [here.parent.parent / "runs" / "rehearsal.py", *sorted(here.glob("*.py"))]
    own = b"\0".join(path.read_bytes() for path in files)
    return hashlib.sha256(code_sha256().encode() + own).hexdigest()


def _of_gate(gate: Gate) -> CheckRow:
    return CheckRow(
        name=gate.name, value=gate.value, limit=gate.limit, n=gate.n, passed=gate.passed, blocks=gate.blocks
    )


def _of_shortcut(shortcut: Shortcut) -> CheckRow:
    row = shortcut.to_json()
    return CheckRow(
        name=row["name"], value=row["value"], limit=f"at most {row['limit']:g}", n=row["n"],
        passed=row["verdict"] != "not met", blocks=False,
    )  # fmt: skip
