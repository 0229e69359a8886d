"""Typed settings from the environment. A value that does not fit raises and names the variable."""

from __future__ import annotations

import os
from pathlib import Path

from django.core.exceptions import ImproperlyConfigured

BASE_DIR = Path(__file__).resolve().parent.parent


def text(name: str, default: str = "") -> str:
    """The variable, or the content of the file that NAME_FILE points to, or the default."""
    file = os.environ.get(f"{name}_FILE")
    if file:
        try:
            return Path(file).read_text(encoding="utf-8").strip()
        except OSError as error:
            raise ImproperlyConfigured(f"{name}_FILE={file!r} is not readable: {error.strerror}") from error
    return os.environ.get(name, default)


def flag(name: str, *, default: bool) -> bool:
    value = os.environ.get(name, "")
    if value == "":
        return default
    if value.lower() in {"1", "true", "yes", "on"}:
        return True
    if value.lower() in {"0", "false", "no", "off"}:
        return False
    raise ImproperlyConfigured(f"{name}={value!r} is not a yes or no; use 1 or 0")


def integer(name: str, default: int, *, low: int = 1, high: int = 10**9) -> int:
    value = os.environ.get(name, "")
    if value == "":
        return default
    try:
        number = int(value)
    except ValueError as error:
        raise ImproperlyConfigured(f"{name}={value!r} is not a whole number") from error
    if not low <= number <= high:
        raise ImproperlyConfigured(f"{name}={number} is outside {low} to {high}")
    return number


def words(name: str, default: str = "") -> list[str]:
    return [word.strip() for word in text(name, default).split(",") if word.strip()]


def patience_s() -> int:
    """Seconds that a client of the site has for its headers, and again for its body."""
    return integer("REQUEST_S", 15, high=600)


def home() -> Path:
    """Where this copy keeps its state: IBA_HOME, else .iba beside the code."""
    return Path(os.environ.get("IBA_HOME") or BASE_DIR / ".iba").expanduser().resolve()
