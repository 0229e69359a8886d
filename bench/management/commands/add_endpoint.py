from __future__ import annotations

import math
import sys
from argparse import BooleanOptionalAction
from typing import Any

from django.core.exceptions import ValidationError
from django.core.management.base import CommandParser

from agents.model.endpoints import Endpoint as ModelEndpoint
from bench.management.base import JsonCommand
from bench.models import Endpoint
from bench.runs.endpoints import KeyMissing, encrypt_key, endpoint_of, is_offline
from bench.runs.reach import EndpointAsleep, check_address, takes_system_role


class Command(JsonCommand):
    help = "Register a model behind the OpenAI protocol, or change what is registered under the slug."

    def arguments(self, parser: CommandParser) -> None:
        parser.add_argument("slug")
        parser.add_argument("--base-url", required=True, help="such as http://127.0.0.1:8080/v1")
        parser.add_argument("--model", required=True, help="the model's name as the server knows it")
        parser.add_argument("--family", required=True, help="model family, such as qwen; judges should be of another")
        parser.add_argument("--key-env", default="", help="environment variable that holds the key")
        parser.add_argument(
            "--key-stdin", action="store_true", help="read the key from standard input, stored encrypted"
        )
        parser.add_argument("--context-tokens", type=int, default=32768)
        parser.add_argument("--price-in", type=float, default=0.0, help="USD a million prompt tokens")
        parser.add_argument("--price-out", type=float, default=0.0, help="USD a million generated tokens")
        parser.add_argument("--max-in-flight", type=int, default=32)
        parser.add_argument("--requests-per-minute", type=int, default=600)
        parser.add_argument("--tokens-per-minute", type=int, default=1_000_000)
        parser.add_argument("--timeout-s", type=float, default=120)
        parser.add_argument("--reasoning", action="store_true")
        parser.add_argument(
            "--system-role",
            action=BooleanOptionalAction,
            default=None,
            help="whether the model takes a system message; found out where it is left out",
        )

    def run(self, **options: Any) -> dict[str, Any]:
        slug = options["slug"]
        if is_offline(slug):
            raise ValueError(f"slug {slug!r} is the simulated reader's own; choose another")
        ModelEndpoint(slug=slug, base_url=options["base_url"], model=options["model"])
        fields = {
            "base_url": options["base_url"],
            "model": options["model"],
            "family": options["family"],
            "key_env": options["key_env"],
            "context_tokens": options["context_tokens"],
            "price_in_per_mtok_usd": options["price_in"],
            "price_out_per_mtok_usd": options["price_out"],
            "max_in_flight": options["max_in_flight"],
            "requests_per_minute": options["requests_per_minute"],
            "tokens_per_minute": options["tokens_per_minute"],
            "timeout_s": options["timeout_s"],
            "reasoning": options["reasoning"],
            "system_role": options["system_role"],
        }
        for name in ("price_in", "price_out", "timeout_s"):
            _check_number(name, options[name])
        if options["key_stdin"]:
            fields["key_encrypted"] = encrypt_key(sys.stdin.readline().strip())
        row = Endpoint.objects.filter(slug=slug).first() or Endpoint(slug=slug)
        for name, value in fields.items():
            setattr(row, name, value)
        try:
            # The address was checked above; the field would refuse names without a dot, such as those in Docker.
            row.clean_fields(exclude=["base_url"])
        except ValidationError as error:
            name, faults = next(iter(error.message_dict.items()))
            raise ValueError(f"{name.replace('_', '-')}: {faults[0]}") from error
        unchecked = _look_at(row)
        created = row.pk is None
        row.save()
        if unchecked:
            self.stderr.write(f"registered, and not checked: {unchecked}")
        return {"slug": slug, "created": created, "system_role": row.system_role, "unchecked": unchecked}


def _check_number(name: str, value: float) -> None:
    """Bills and waits are made of these. Raises ValueError for what is no sum or time."""
    least = 0.0 if name.startswith("price") else 0.001
    if not (math.isfinite(value) and value >= least):
        raise ValueError(f"{name.replace('_', '-')} is {value}; give a number of at least {least:g}")


def _look_at(row: Endpoint) -> str:
    """Check the address and find out what is not known of the model. Why that cannot be done yet, "" where it was.

    Raises EndpointUnusable for another address or a wrong key.
    """
    try:
        endpoint = endpoint_of(row)
        check_address(endpoint)
    except (EndpointAsleep, KeyMissing) as error:
        return str(error)
    if row.system_role is None:
        row.system_role = takes_system_role(endpoint)
    return ""
