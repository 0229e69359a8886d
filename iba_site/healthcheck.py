"""`python -m iba_site.healthcheck`: exit code 0 where a worker's heartbeat is fresh. For containers."""

from __future__ import annotations

import os
import sys

if __name__ == "__main__":
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "iba_site.settings")
    from bench.runs.worker import workers_alive

    sys.exit(0 if workers_alive() else 1)
