"""What a model's name and its settings ask for: how well it reads and judges, and which faults hit a request.

All of it is decided by hash, so that a run can be repeated.
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass, replace


@dataclass(frozen=True, slots=True)
class Dials:
    """How well the reader does, shares in 0..1. ``understands``: texts read as their label says; ``keeps``: settled
    preferences that reach the action; ``errs``: verdicts that come out wrong.
    """

    understands: float = 1.0
    keeps: float = 1.0
    errs: float = 0.0


OFFLINE = "offline"
MODELS = {
    OFFLINE: Dials(),
    "offline-weak": Dials(understands=0.8, keeps=0.8),
    "offline-judge-a": Dials(errs=0.03),
    "offline-judge-b": Dials(errs=0.04),
    "offline-judge-c": Dials(errs=0.05),
    "offline-exact": Dials(),
}
PANEL = ("offline-judge-a", "offline-judge-b", "offline-judge-c")
DIALS = tuple(Dials.__dataclass_fields__)
STATUS_KINDS = ("http429", "http500", "timeout")
CONTENT_KINDS = ("malformed_json", "prose", "truncated", "empty_choices")
KINDS = STATUS_KINDS + CONTENT_KINDS


@dataclass(frozen=True, slots=True)
class Behaviour:
    """What a model's name asks for: dials, rates of faults in 0..1, seconds that an answer takes at least."""

    dials: Dials
    rates: tuple[tuple[str, float], ...] = ()
    latency_s: float = 0.0

    def fault(self, request_hash: str, attempt: int) -> str:
        """The fault of this attempt at this request, "" for none."""
        for kind, rate in self.rates:
            if draw(f"{kind}/{request_hash}/{attempt}") < rate:
                return kind
        return ""


def model_of(name: str) -> str:
    """``offline+http429=0.2`` -> ``offline``."""
    return name.partition("+")[0]


def behaviour_of(name: str) -> Behaviour:
    """``offline+understands=0.5+http429=0.2+latency=1``: the model's own behaviour with these settings over it.

    Raises ValueError, which lists the names; KeyError for an unknown model.
    """
    model, *settings = name.split("+")
    dials, rates, latency_s = MODELS[model], dict[str, float](), 0.0
    for setting in settings:
        key, _, number = setting.strip().partition("=")
        value = _number(setting, number)
        if key == "latency":
            latency_s = value
        elif key in KINDS and value <= 1:
            rates[key] = value
        elif key in DIALS and value <= 1:
            dials = replace(dials, **{key: value})
        else:
            allowed = ", ".join((*KINDS, *DIALS))
            raise ValueError(f"unknown setting {setting!r}: use latency=SECONDS or NAME=0..1 of {allowed}")
    return Behaviour(dials, tuple((kind, rates[kind]) for kind in KINDS if kind in rates), latency_s)


def _number(setting: str, text: str) -> float:
    try:
        value = float(text)
    except ValueError:
        raise ValueError(f"setting {setting!r}: {text!r} is not a number") from None
    if not 0 <= value <= 3600:
        raise ValueError(f"setting {setting!r}: the number must be 0 or more and at most 3600")
    return value


def draw(*parts: str) -> float:
    """A number in [0, 1), the same for the same parts."""
    return int.from_bytes(hashlib.sha256("/".join(parts).encode()).digest()[:8]) / 2**64


def pick(options: Sequence[str], *parts: str) -> str:
    """One of the options at random, the same for the same parts; "" of none."""
    return options[int(draw("pick", *parts) * len(options))] if options else ""
