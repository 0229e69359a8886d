"""The brake on guessing passwords: who counts as one client, and how long a name stays closed to it."""

from __future__ import annotations

import ipaddress
import math
from datetime import datetime

from axes.models import AccessAttempt
from django.conf import settings
from django.http import HttpRequest
from django.utils import timezone

NETWORK_BITS = 64  # of an IPv6 address: what a provider gives to one client, who may take any address below it
NOWHERE = "::"  # of a request that came by no network


def address_of(request: HttpRequest) -> str:
    """The client's IPv4 address or IPv6 network. No header counts: iba_site.front has heard the proxy."""
    try:
        address = ipaddress.ip_address(request.META.get("REMOTE_ADDR", ""))
    except ValueError:
        return NOWHERE
    if isinstance(address, ipaddress.IPv4Address):
        return str(address)
    if address.ipv4_mapped:
        return str(address.ipv4_mapped)
    rest = 128 - NETWORK_BITS
    return str(ipaddress.IPv6Address(int(address) >> rest << rest))


def seconds_left(request: HttpRequest, username: str) -> int:
    """Until fewer wrong passwords count than close the name; at least 1."""
    counted = 0
    now = timezone.now()
    attempts = AccessAttempt.objects.filter(username=username, ip_address=address_of(request))
    for attempt in attempts.order_by("-attempt_time"):  # one for each kind of browser, with the time of its last try
        counted += attempt.failures_since_start
        if counted >= settings.AXES_FAILURE_LIMIT:
            opens: datetime = attempt.attempt_time + settings.AXES_COOLOFF_TIME
            return max(1, math.ceil((opens - now).total_seconds()))
    return 1


def in_words(seconds: int) -> str:
    """``90`` is "2 minutes": never less than it takes."""
    if seconds < 60:
        return f"{seconds} second{'s' * (seconds != 1)}"
    minutes = math.ceil(seconds / 60)
    return f"{minutes} minute{'s' * (minutes != 1)}"
