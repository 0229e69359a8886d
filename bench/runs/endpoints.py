"""From a model's name to an endpoint that can be called, and keys that are never shown."""

from __future__ import annotations

import base64
import hashlib
import os

from cryptography.fernet import Fernet, InvalidToken
from django.conf import settings

from agents.model.endpoints import Endpoint as ModelEndpoint
from bench.models import Endpoint
from bench.reader.faults import MODELS, OFFLINE, behaviour_of, model_of
from bench.services import services


class UnknownModel(ValueError):
    """No endpoint of that name is registered."""


class OfflineStopped(UnknownModel):
    """The simulated model is known and does not run."""


class KeyMissing(ValueError):
    """The endpoint's key is not where it should be."""


class EndpointUnusable(ValueError):
    """The endpoint does not answer, or not to this key. Found before anything is started."""


def is_offline(name: str) -> bool:
    """The simulated reader, one of its judges, or one with settings such as ``offline+http429=0.2``."""
    return model_of(name) in MODELS


def resolve_endpoint(name: str) -> ModelEndpoint:
    """The endpoint of that name, key included. Raises UnknownModel or KeyMissing with the remedy."""
    if is_offline(name):
        return _offline(name)
    row = Endpoint.objects.filter(slug=name).first()
    if row is None:
        known = ", ".join([OFFLINE, *Endpoint.objects.values_list("slug", flat=True)])
        raise UnknownModel(f"unknown model {name!r}; known are {known}. Register one with `manage.py add_endpoint`.")
    return endpoint_of(row)


def endpoint_of(row: Endpoint) -> ModelEndpoint:
    """The endpoint that a row describes. Raises KeyMissing, and ValueError for an address that cannot be one."""
    return ModelEndpoint(
        slug=row.slug,
        base_url=row.base_url,
        model=row.model,
        api_key=_key(row),
        family=row.family,
        context_tokens=row.context_tokens,
        price_in_per_mtok_usd=row.price_in_per_mtok_usd,
        price_out_per_mtok_usd=row.price_out_per_mtok_usd,
        max_in_flight=row.max_in_flight,
        requests_per_minute=row.requests_per_minute,
        tokens_per_minute=row.tokens_per_minute,
        timeout_s=row.timeout_s,
        reasoning=row.reasoning,
        system_role=row.system_role is not False,
    )


def check_model(name: str) -> None:
    """Raises what resolve_endpoint would, without needing the reader to run."""
    if is_offline(name):
        _check_settings(name)
    else:
        resolve_endpoint(name)


def _check_settings(name: str) -> None:
    """Dials, faults and latency that are asked of the reader by its name."""
    try:
        behaviour_of(name)
    except ValueError as error:
        raise UnknownModel(f"model {name!r}: {error}") from error


def _offline(name: str) -> ModelEndpoint:
    _check_settings(name)
    url = services().offline_url()
    if not url:
        raise OfflineStopped(
            "the simulated reader does not run; start it with `python -m iba_site.services start offline`"
        )
    return ModelEndpoint(
        slug=model_of(name),
        base_url=url,
        model=name,
        family=model_of(name),
        max_in_flight=256,
        timeout_s=60,
        simulated=True,
    )


def _key(row: Endpoint) -> str:
    if row.key_env:
        value = os.environ.get(row.key_env, "")
        if not value:
            raise KeyMissing(f"endpoint {row.slug!r} takes its key from ${row.key_env}, which is not set")
        return value
    if row.key_encrypted is None:
        return ""
    try:
        return _fernet().decrypt(bytes(row.key_encrypted)).decode()
    except InvalidToken as error:
        raise KeyMissing(
            f"the stored key of endpoint {row.slug!r} was made with another SECRET_KEY; enter it again"
        ) from error


def encrypt_key(key: str) -> bytes:
    """The key as it may be stored."""
    return _fernet().encrypt(key.encode())


def _fernet() -> Fernet:
    digest = hashlib.sha256(b"endpoint keys/" + settings.SECRET_KEY.encode()).digest()
    return Fernet(base64.urlsafe_b64encode(digest))
