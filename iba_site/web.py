"""`python -m iba_site.web --host H --port P`: the web server with every limit that it needs, proxy or not."""

from __future__ import annotations

import argparse
import contextlib
import os
import resource

from granian import Granian
from granian.constants import HTTPModes, Interfaces, Loops
from granian.http import HTTP1Settings

from iba_site import asgi, env

PROCESSES = min(2, os.cpu_count() or 1)
CONNECTIONS = 2000  # at once, over all processes; half-sent requests are among them
HEADERS_BYTES = 65_536


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m iba_site.web")
    parser.add_argument("--host", default="127.0.0.1")
    parser.add_argument("--port", type=int, default=8000)
    chosen = parser.parse_args()
    asgi.load()
    _allow_files(2 * CONNECTIONS)
    Granian(
        "iba_site.asgi:make",
        factory=True,
        address=chosen.host,
        port=chosen.port,
        interface=Interfaces.ASGINL,
        http=HTTPModes.http1,
        loop=Loops.uvloop if os.name != "nt" else Loops.asyncio,
        workers=PROCESSES,
        websockets=False,
        backlog=1024,
        backpressure=CONNECTIONS // PROCESSES,
        http1_settings=HTTP1Settings(header_read_timeout=1000 * env.patience_s(), max_buffer_size=HEADERS_BYTES),
        respawn_failed_workers=True,
        workers_kill_timeout=10,
        log_access=False,
    ).serve()


def _allow_files(wanted: int) -> None:
    """Each connection is an open file, and many systems allow 1,024 until asked."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    most = wanted if hard == resource.RLIM_INFINITY else min(wanted, hard)
    if soft != resource.RLIM_INFINITY and soft < most:
        with contextlib.suppress(ValueError, OSError):
            resource.setrlimit(resource.RLIMIT_NOFILE, (most, hard))


if __name__ == "__main__":
    main()
