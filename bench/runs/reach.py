"""Whether a registered endpoint answers, at which address, and whether its model takes a system message."""

from __future__ import annotations

import json
import time
import urllib.error
import urllib.request
import uuid
from contextlib import suppress
from dataclasses import dataclass, replace

from agents.contract import JSON, LLMError
from agents.model.endpoints import Endpoint as ModelEndpoint
from agents.model.endpoints import StoredCall, measure_usage
from agents.model.transport import Rejected, Transient, post
from bench.models import Endpoint
from bench.runs.calls import DatabaseStore
from bench.runs.endpoints import EndpointUnusable, resolve_endpoint

REACH_S = 10.0
_CHAT = "/chat/completions"
_NO_SUCH_PATH = frozenset({404, 405, 501})
# What servers say to a message of a role that the model's chat template does not know.
_MAY_MEAN_SYSTEM = frozenset({400, 422, 500})


class EndpointAsleep(EndpointUnusable):
    """Nobody answers at its address. It may be right all the same."""


def check_reachable(name: str) -> None:
    """Find out before a run what would fail all of it. Raises EndpointUnusable with the remedy.

    A registered endpoint of which it is not known is asked whether its model takes a system message.
    """
    check_address(resolve_endpoint(name))
    learn_system_role(name)


def learn_system_role(name: str) -> None:
    """Ask a registered endpoint whether its model takes a system message, where that is not known yet.

    It stays unknown where the server cannot be asked now. Raises UnknownModel and KeyMissing.
    """
    endpoint = resolve_endpoint(name)
    unknown = Endpoint.objects.filter(slug=name, system_role=None)
    if not endpoint.simulated and unknown.exists():
        unknown.update(system_role=takes_system_role(endpoint))


def check_address(endpoint: ModelEndpoint) -> None:
    """Ask for the list of models, which buys nothing, and look whether completions are somewhere else.

    A server without such a list counts as reachable: what it says to a completion is settled there.
    """
    where = f"endpoint {endpoint.name!r} ({endpoint.public_url})"
    url = endpoint.base_url.rstrip("/")
    try:
        answer = _ask(endpoint, f"{url}/models")
    except OSError as error:
        reason = getattr(error, "reason", error)
        raise EndpointAsleep(
            f"{where} cannot be reached: {endpoint.redact(str(reason))}. Start the server, or correct the address "
            "with `manage.py add_endpoint`."
        ) from None
    if answer.status in (401, 403):
        raise EndpointUnusable(
            f"{where} refuses the key with status {answer.status}. Set the right one: `manage.py add_endpoint`."
        )
    if answer.is_list_of_models or _takes_completions(endpoint, url):
        return
    for other in (url.removesuffix(_CHAT), f"{url}/v1"):
        if other != url and _takes_completions(endpoint, other):
            right = replace(endpoint, base_url=other).public_url
            raise EndpointUnusable(
                f"endpoint {endpoint.name!r}: {endpoint.public_url} answers at {right}: set it with "
                f"`manage.py add_endpoint {endpoint.slug} --base-url {right}` and the other options as before."
            )


@dataclass(frozen=True)
class _Answer:
    status: int
    body: object

    @property
    def is_list_of_models(self) -> bool:
        return self.status == 200 and isinstance(self.body, dict) and isinstance(self.body.get("data"), list)


def _ask(endpoint: ModelEndpoint, url: str, body: bytes | None = None) -> _Answer:
    """GET, or POST of ``body``, whatever the status. Raises OSError where nobody answers."""
    headers = {"Authorization": f"Bearer {endpoint.api_key or 'none'}", "User-Agent": "iba-bench"}
    if body is not None:
        headers["Content-Type"] = "application/json"
    request = urllib.request.Request(url, data=body, headers=headers)  # noqa: S310
    try:
        with urllib.request.urlopen(request, timeout=REACH_S) as response:  # noqa: S310 (http or https, see ModelEndpoint)
            status, text = response.status, response.read(1_000_000)
    except urllib.error.HTTPError as error:
        error.close()
        return _Answer(error.code, None)
    found: object = None
    with suppress(ValueError, RecursionError):
        found = json.loads(text)
    return _Answer(status, found)


def _takes_completions(endpoint: ModelEndpoint, url: str) -> bool:
    """Whether completions are made there: an empty request, which buys nothing, is refused for what it lacks.

    Some servers say 200 to every address, with a page or an error.
    """
    try:
        return _ask(endpoint, url + _CHAT, b"{}").status not in {200, *_NO_SUCH_PATH}
    except OSError:
        return False


def takes_system_role(endpoint: ModelEndpoint) -> bool | None:
    """False where a system message is refused, twice, and the same words in the user's are answered between.

    None where the server cannot be asked now. Buys the shortest completions there are.
    """
    system, user = {"role": "system", "content": "Be brief."}, {"role": "user", "content": "ping"}
    outcomes = []
    for messages in ([system, user], [user], [system, user]):
        outcomes.append(_outcome(endpoint, messages))
        if outcomes == ["answered"]:
            return True
        if outcomes[-1] != ("answered" if len(outcomes) == 2 else "refused"):
            return None
    return False


def _outcome(endpoint: ModelEndpoint, messages: list[JSON]) -> str:
    try:
        ping(endpoint, messages, REACH_S)
    except (Rejected, Transient) as error:
        return "refused" if error.status in _MAY_MEAN_SYSTEM else "away"
    except LLMError:
        return "away"
    return "answered"


def ping(endpoint: ModelEndpoint, messages: list[JSON], timeout_s: float) -> None:
    """Buy a completion of one token, which is in the books and on no run's bill. Raises what ``post`` does."""
    room = "max_completion_tokens" if endpoint.reasoning else "max_tokens"
    request: JSON = {"model": endpoint.model, "messages": messages, room: 1}
    started = time.monotonic()
    response = post(endpoint, request, min(endpoint.timeout_s, timeout_s))
    usage = measure_usage(endpoint, request, response)
    call = StoredCall(response, usage, time.monotonic() - started, "probe")
    DatabaseStore(run_id=None, unit_id=None, endpoint=endpoint.slug).put(f"probe {uuid.uuid4().hex}", request, call)
