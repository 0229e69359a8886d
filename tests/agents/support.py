"""What the client's tests are made of: a serving process, a scripted endpoint, a still clock."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from agents.contract import JSON, BudgetExceeded, Limits
from agents.model.client import Endpoint, LocalLimiter, OpenAILLM, StoredCall

ROOT = Path(__file__).parents[2]


@contextmanager
def python_server(*arguments: str, **environment: str) -> Iterator[tuple[str, subprocess.Popen[str]]]:
    """Runs Python with arguments and variables until the block ends; yields its first line, a URL, and the process."""
    variables = os.environ | {"PYTHONPATH": str(ROOT)} | environment
    process = subprocess.Popen([sys.executable, *arguments], cwd=ROOT, env=variables, stdout=subprocess.PIPE, text=True)
    assert process.stdout is not None
    try:
        url = process.stdout.readline().strip()
        assert url.startswith("http"), f"{arguments} did not start"
        yield url, process
    finally:
        process.kill()
        process.wait()
        process.stdout.close()


class MemoryStore:
    """A CallStore in a dict, with money for ``budget`` calls."""

    def __init__(self, budget: int = 1000) -> None:
        self.calls: dict[str, StoredCall] = {}
        self.budget = budget

    def find(self, keys: Sequence[str]) -> dict[str, StoredCall]:
        found = {key: self.calls[key] for key in keys if key in self.calls}
        if not found and len(self.calls) >= self.budget:
            raise BudgetExceeded(f"all {self.budget} calls are bought")
        return found

    def put(self, key: str, request: JSON, call: StoredCall) -> None:
        json.dumps([request, call.response])  # a store keeps JSON
        self.calls[key] = call


class Clock:
    """Time that passes only when somebody sleeps."""

    def __init__(self) -> None:
        self.now = 0.0
        self.slept: list[float] = []

    def __call__(self) -> float:
        return self.now

    def sleep(self, seconds: float) -> None:
        self.slept.append(seconds)
        self.now += seconds


@dataclass
class Script:
    """An endpoint that answers from a list; the last answer repeats. An answer is (status, headers, body)."""

    url: str
    answers: list[tuple[int, dict[str, str], Any]] = field(default_factory=list)
    requests: list[dict[str, Any]] = field(default_factory=list)
    keys: list[str] = field(default_factory=list)

    def says(self, *contents: str | None, finish: str = "stop") -> None:
        self.answers = [(200, {}, completion(content, finish)) for content in contents]

    def next(self) -> tuple[int, dict[str, str], Any]:
        return self.answers.pop(0) if len(self.answers) > 1 else self.answers[0]


def completion(content: str | None, finish: str = "stop", **message: Any) -> dict[str, Any]:
    """A chat completion of 100 prompt tokens and 10 reply tokens."""
    said = {"role": "assistant", "content": content, **message}
    usage = {"prompt_tokens": 100, "completion_tokens": 10}
    return {"choices": [{"index": 0, "message": said, "finish_reason": finish}], "usage": usage}


@dataclass
class Bench:
    """Everything that an OpenAILLM is made of, at hand for assertions."""

    store: MemoryStore = field(default_factory=MemoryStore)
    clock: Clock = field(default_factory=Clock)

    def llm(self, url: str, **changes: Any) -> OpenAILLM:
        """``changes`` go to the endpoint where it has such a field, else to the LLM."""
        fields = Endpoint.__dataclass_fields__
        defaults = {"slug": "test", "base_url": url, "model": "offline", "api_key": "sk-secret"}
        endpoint = Endpoint(**defaults | {name: value for name, value in changes.items() if name in fields})
        rest: dict[str, Any] = {
            "store": self.store,
            "limiter": LocalLimiter(),
            "repeat": 0,
            "limits": Limits(),
            "clock": self.clock,
            "sleep": self.clock.sleep,
        }
        return OpenAILLM(endpoint, **rest | {name: value for name, value in changes.items() if name not in fields})
