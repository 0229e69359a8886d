"""Kills every service at random moments while runs go on, starts it again a little later, and counts what is wrong.

    .venv/bin/python tools/soak.py --seconds 900 --kills 60

Works in a home of its own under IBA_HOME. Exit code 0 only if nothing was lost, doubled, failed or left unscored,
and every `run_benchmark` that was watching ended well.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import shutil
import signal
import subprocess
import sys
import time
from collections import Counter
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))
SERVICES = ("postgres", "redis", "embeddings", "offline", "worker", "worker2", "web")
LONGEST_DOWN_S = 4.0
METHODS = "iba,rag,no_history"


def main() -> int:
    wish = _arguments()
    home = Path(os.environ.get("IBA_HOME", ROOT / ".iba")) / "soak"
    os.environ |= {"IBA_HOME": str(home), "LEASE_S": "10", "DJANGO_SETTINGS_MODULE": "iba_site.settings"}
    for name in ("DATABASE_URL", "REDIS_URL", "EMBEDDINGS_URL", "OFFLINE_URL"):
        os.environ.pop(name, None)
    from iba_site import services
    from iba_site.services import process

    os.environ["PORT"] = str(process.free_port())
    services.stop()
    shutil.rmtree(home, ignore_errors=True)
    services.ensure("postgres", "redis", "embeddings", "offline")
    manage("migrate", "--verbosity", "0").check_returncode()
    manage("build_dataset", "--name", "soak", "--size", wish.size).check_returncode()
    services.ensure("worker", "web")
    import django

    django.setup()
    try:
        found = soak(wish)
    finally:
        services.stop()
    print(json.dumps(found, indent=2))
    return 0 if found["well"] else 1


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--seconds", type=float, default=900, help="over which the kills are spread")
    parser.add_argument("--kills", type=int, default=60)
    parser.add_argument("--size", default="starter", help="of the dataset")
    parser.add_argument("--limit", type=int, default=40, help="tasks a run; one run follows the other")
    parser.add_argument("--latency", type=float, default=0.5, help="seconds that the model takes for an answer")
    parser.add_argument("--seed", type=int, default=int(time.time()))
    return parser.parse_args()


def manage(*arguments: str) -> subprocess.CompletedProcess[bytes]:
    return subprocess.run([sys.executable, "manage.py", *arguments], cwd=ROOT, check=False)  # noqa: S603


def soak(wish: argparse.Namespace) -> dict[str, object]:
    """Runs one after the other until every kill has been made; then what the database holds."""
    dice = random.Random(wish.seed)  # noqa: S311 (a seed makes a soak repeatable)
    moments = sorted(dice.uniform(0, wish.seconds) for _ in range(wish.kills))
    victims = [SERVICES[n % len(SERVICES)] for n in range(wish.kills)]
    dice.shuffle(victims)
    kills: Counter[str] = Counter()
    exits: list[int] = []
    started = time.monotonic()
    busy_s = 0.0  # how long runs were going on: the clock of the kills
    run_number = 0
    while kills.total() < wish.kills:
        run_number += 1
        watching = _watch_a_run(wish, run_number)
        _wait_until_it_runs(run_number, watching)
        last = time.monotonic()
        while watching.poll() is None:
            busy_s, last = busy_s + time.monotonic() - last, time.monotonic()
            if kills.total() < wish.kills and busy_s >= moments[kills.total()]:
                victim = victims[kills.total()]
                kills[victim] += 1
                _kill(victim, dice)
            time.sleep(0.1)
        exits.append(watching.returncode)
    found = _count()
    wrong = {name: found[name] for name in ("lost", "failed", "doubled", "unscored", "empty_verdicts", "open_runs")}
    return {
        "seed": wish.seed,
        "kills": dict(sorted(kills.items())),
        "wall_s": round(time.monotonic() - started),
        "run_benchmark_exits": dict(Counter(exits)),
        **found,
        "well": not any(wrong.values()) and not any(exits),
    }


def _watch_a_run(wish: argparse.Namespace, number: int) -> subprocess.Popen[bytes]:
    # Each run has a latency of its own, so that nothing is replayed from the run before.
    model = f"offline+latency={wish.latency + number / 1000:.3f}"
    command = [sys.executable, "manage.py", "run_benchmark", "--dataset", "soak", "--methods", METHODS]
    command += ["--model", model, "--limit", str(wish.limit), "--max-in-flight", "16"]
    return subprocess.Popen(command, cwd=ROOT)  # noqa: S603


def _wait_until_it_runs(number: int, watching: subprocess.Popen[bytes]) -> None:
    from bench.models import Run

    while Run.objects.count() < number and watching.poll() is None:
        time.sleep(0.1)


def _kill(victim: str, dice: random.Random) -> None:
    """kill -9, a pause, and a start, as whoever keeps services alive would do."""
    from django.db import connection

    from iba_site import services

    record = services.status()[victim]
    if record is not None:
        os.kill(record.pid, signal.SIGKILL)
    print(f"soak: killed {victim}", file=sys.stderr, flush=True)
    time.sleep(dice.uniform(0.2, LONGEST_DOWN_S))
    services.ensure(victim)
    connection.close()


def _count() -> dict[str, int]:
    from django.db.models import Count

    from bench.models import Checkpoint, CheckpointScore, ModelCall, Run, Trajectory, Unit, Verdict

    units = Unit.objects.all()
    done = Trajectory.objects.all()
    judged = Verdict.objects.filter(source="judge")
    twice = judged.values("trajectory", "checkpoint", "name").annotate(n=Count("pk")).filter(n__gt=1)
    due = Checkpoint.objects.filter(task__units__trajectory__isnull=False).count()
    return {
        "runs": Run.objects.count(),
        "units": units.count(),
        "calls": ModelCall.objects.exclude(stage="probe").count(),
        "open_runs": Run.objects.exclude(status="done").count(),
        "lost": units.count() - done.count(),
        "failed": units.filter(status="failed").count(),
        "doubled": done.count() - done.values("unit").distinct().count() + twice.count(),
        "unscored": due - CheckpointScore.objects.count(),
        "undecided": CheckpointScore.objects.filter(combined="").count(),  # by judges who answered; no fault
        "empty_verdicts": judged.filter(value="").count(),
    }


if __name__ == "__main__":
    sys.exit(main())
