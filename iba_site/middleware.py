"""What holds for every answer: no cache keeps it, no NUL is looked up, errors below /api/ have the API's shape."""

from __future__ import annotations

import json
from collections.abc import Callable

from django.http import HttpRequest, HttpResponse, HttpResponseNotFound


def json_errors(get_response: Callable[[HttpRequest], HttpResponse]) -> Callable[[HttpRequest], HttpResponse]:
    """An unknown address, a wrong method or a fault of ours answers ``{"error": sentence}`` and no page."""

    def answer(request: HttpRequest) -> HttpResponse:
        response = get_response(request)
        is_json = response.get("Content-Type", "").startswith("application/json")
        if request.path.startswith("/api/") and response.status_code >= 400 and not is_json:
            response.content = json.dumps({"error": _sentence(request, response)}).encode()
            response["Content-Type"] = "application/json"
            response["Content-Length"] = str(len(response.content))
        return response

    return answer


def no_nul(get_response: Callable[[HttpRequest], HttpResponse]) -> Callable[[HttpRequest], HttpResponse]:
    """404 where the address holds the character NUL: no name of ours has it, and the database refuses to look."""

    def answer(request: HttpRequest) -> HttpResponse:
        if "\x00" in request.path_info or "%00" in request.META.get("QUERY_STRING", ""):
            return HttpResponseNotFound("There is nothing at this address.", content_type="text/plain")
        return get_response(request)

    return answer


def no_store(get_response: Callable[[HttpRequest], HttpResponse]) -> Callable[[HttpRequest], HttpResponse]:
    """What only some may see stays in no cache, be it a proxy's or that of a browser which others use next."""

    def answer(request: HttpRequest) -> HttpResponse:
        response = get_response(request)
        response.setdefault("Cache-Control", "no-store")
        return response

    return answer


def _sentence(request: HttpRequest, response: HttpResponse) -> str:
    if response.status_code == 404:
        return "there is nothing at this address"
    if response.status_code == 405:
        return f"{request.method} is not possible at this address; allowed: {response.get('Allow', 'nothing')}"
    if response.status_code >= 500:
        return "something broke on our side; the server's log says what"
    return response.reason_phrase.lower()
