"""`python -m iba_site.healthcheck worker|web`: exit code 0 where it is well. For containers.

``worker``: a worker's heartbeat is fresh. ``web``: the site of this container answers its health page, whatever that
says of the others; a new start of the site would not mend those.
"""

from __future__ import annotations

import http.client
import json
import os
import sys

from iba_site import env


def _worker() -> bool:
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "iba_site.settings")
    from bench.runs.worker import workers_alive

    return bool(workers_alive())


def _web() -> bool:
    """Asks under a name that the site goes by: it answers to no other."""
    connection = http.client.HTTPConnection("127.0.0.1", env.integer("PORT", 8000, high=65535), timeout=9)
    try:
        connection.request("GET", "/healthz", headers={"Host": own_name()})
        return "status" in json.load(connection.getresponse())
    except (OSError, http.client.HTTPException, ValueError):
        return False
    finally:
        connection.close()


def own_name() -> str:
    first = next(iter(env.words("ALLOWED_HOSTS")), "localhost")
    return "localhost" if first == "*" else first.removeprefix(".")


CHECKS = {"worker": _worker, "web": _web}

if __name__ == "__main__":
    check = CHECKS.get(sys.argv[1] if len(sys.argv) > 1 else "")
    sys.exit(2 if check is None else not check())
