"""Errors below /api/ in the API's own shape, also where no route of it was reached."""

from __future__ import annotations

import json
from collections.abc import Callable

from django.http import HttpRequest, HttpResponse


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


def _sentence(request: HttpRequest, response: HttpResponse) -> str:
    if response.status_code == 404:
        return "there is nothing at this address"
    if response.status_code == 405:
        return f"{request.method} is not possible at this address; allowed: {response.get('Allow', 'nothing')}"
    if response.status_code >= 500:
        return "something broke on our side; the server's log says what"
    return response.reason_phrase.lower()
