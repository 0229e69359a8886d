"""What a run's numbers depend on, as one JSON document with a hash."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Sequence
from dataclasses import asdict
from functools import lru_cache
from pathlib import Path
from typing import Any

from agents.contract import Limits
from agents.model.endpoints import Endpoint
from bench.grading.judges import RUBRIC_VERSION
from bench.grading.types import Policy
from bench.models import Dataset
from bench.reader.faults import behaviour_of
from bench.runs.spec import OPTIONS, RunSpec

ROOT = Path(__file__).resolve().parent.parent.parent
# What decides a trajectory, its grade or the simulated model; pages, importers, commands and statistics do not.
CODE = (
    "agents",
    "bench/catalogue",
    "bench/generation",
    "bench/grading",
    "bench/reader",
    "bench/runs/inputs.py",
    "bench/runs/matching.py",
    "bench/runs/world.py",
    "bench/search",
)
PROMPTS = ("agents/prompts", "bench/grading/prompts")


def build_manifest(
    spec: RunSpec,
    dataset: Dataset,
    endpoint: Endpoint,
    judges: Sequence[Endpoint],
    *,
    limits: Limits,
    policy: Policy,
) -> dict[str, Any]:
    """Everything that decides the results. Keys, addresses and times are left out."""
    asked = {name: getattr(spec, name) for name, option in OPTIONS.items() if option.decides}
    return {
        **asked,
        "format": 1,
        "dataset": {"name": dataset.name, "version": dataset.version, "sha256": dataset.sha256},
        "data_version": dataset.data_version,
        "methods": list(spec.methods),
        "model": _model(endpoint),
        "judges": [_model(judge) for judge in judges],
        "domains": list(spec.domains),
        "limits": asdict(limits),
        "policy": asdict(policy),
        "rubric_version": RUBRIC_VERSION,
        "code_sha256": code_sha256(),
        "prompts": prompt_hashes(),
    }


def manifest_sha256(manifest: dict[str, Any]) -> str:
    return hashlib.sha256(json.dumps(manifest, sort_keys=True, separators=(",", ":")).encode()).hexdigest()


def _model(endpoint: Endpoint) -> dict[str, Any]:
    return {
        "slug": endpoint.slug,
        "model": endpoint.model,
        "family": endpoint.family,
        "simulated": endpoint.simulated,
        "price_in_per_mtok_usd": endpoint.price_in_per_mtok_usd,
        "price_out_per_mtok_usd": endpoint.price_out_per_mtok_usd,
        **({"dials": asdict(behaviour_of(endpoint.model).dials)} if endpoint.simulated else {}),
    }


@lru_cache(maxsize=1)
def code_sha256() -> str:
    """Hash of the sources that decide a trajectory and its grades. Missing parts raise FileNotFoundError."""
    digest = hashlib.sha256()
    for path in sorted(path for part in CODE for path in _sources(ROOT / part)):
        digest.update(str(path.relative_to(ROOT)).encode() + b"\0" + path.read_bytes())
    return digest.hexdigest()


def _sources(place: Path) -> list[Path]:
    if place.is_dir():
        return [*place.rglob("*.py"), *place.rglob("*.yaml")]
    if not place.exists():
        raise FileNotFoundError(f"{place}: named in CODE, but it is not there")
    return [place]


@lru_cache(maxsize=1)
def prompt_hashes() -> dict[str, str]:
    """Path of each prompt file -> first 12 hex digits of its sha256."""
    files = sorted(path for part in PROMPTS for path in (ROOT / part).rglob("*.md"))
    return {str(path.relative_to(ROOT)): hashlib.sha256(path.read_bytes()).hexdigest()[:12] for path in files}
