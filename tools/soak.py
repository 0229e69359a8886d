"""Kills every service at random moments while runs go on, starts it again a little later, and counts what is wrong.

    .venv/bin/python tools/soak.py --seconds 900 --kills 60

Works in a home of its own under IBA_HOME. Exit code 0 only if nothing was lost, doubled, failed or left unscored,
every service started again, none died that was not killed (`run_benchmark` would start it again, and nobody else),
every `run_benchmark` that was watching ended well, and the site is well at the end.

Goes by the monotonic clock. A machine that stood still meanwhile (a paused virtual machine) gets no kills all at once
for it, and a time of day that was set changes nothing; both are reported.
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
import threading
import time
import urllib.error
import urllib.request
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))
SERVICES = ("postgres", "redis", "embeddings", "offline", "worker", "worker2", "web")
LONGEST_DOWN_S = 4.0
METHODS = "iba,rag,no_history"
LOOK_S = 0.1
STOOD_STILL_S = 5.0  # between two looks
CLOCK_WAS_SET_S = 1.0
WELL_AGAIN_S = 60.0


@dataclass
class Stopwatch:
    """How long the soak has really gone on, told at every look what the clocks say."""

    steady: float
    wall: float
    passed_s: float = 0.0
    stood_still_s: list[float] = field(default_factory=list)
    clock_set_by_s: list[float] = field(default_factory=list)
    _ended: threading.Event = field(default_factory=threading.Event)

    def look(self, steady: float, wall: float) -> None:
        """``steady``: of the monotonic clock; ``wall``: the time of day."""
        gap, drift = steady - self.steady, (wall - self.wall) - (steady - self.steady)
        self.steady, self.wall = steady, wall
        self.passed_s += min(gap, STOOD_STILL_S)
        if gap > STOOD_STILL_S:
            self.stood_still_s.append(round(gap, 1))
        if abs(drift) > CLOCK_WAS_SET_S:
            self.clock_set_by_s.append(round(drift, 1))

    def __enter__(self) -> Stopwatch:
        threading.Thread(target=self._watch, daemon=True).start()
        return self

    def __exit__(self, *_: object) -> None:
        self._ended.set()

    def _watch(self) -> None:
        while not self._ended.wait(LOOK_S):
            self.look(time.monotonic(), time.time())


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
    not_started: list[str] = []
    died: list[str] = []
    with Stopwatch(time.monotonic(), time.time()) as watch:
        between_s = 0.0  # time in which no run went on, which is none of the kills' clock
        while kills.total() < wish.kills:
            before = watch.passed_s
            watching = _watch_a_run(wish, len(exits) + 1)
            _wait_until_it_runs(len(exits) + 1, watching)
            alive = _alive()
            between_s += watch.passed_s - before
            while watching.poll() is None:
                if kills.total() < wish.kills and watch.passed_s - between_s >= moments[kills.total()]:
                    victim = victims[kills.total()]
                    kills[victim] += 1
                    died += [name for name, pid in alive.items() if _alive().get(name) != pid]
                    not_started += _kill(victim, dice)
                    alive = _alive()
                time.sleep(LOOK_S)
            exits.append(watching.returncode)
            died += [name for name, pid in alive.items() if _alive().get(name) != pid]
    found = _count()
    wrong = {name: found[name] for name in ("lost", "failed", "doubled", "unscored", "empty_verdicts", "open_runs")}
    health = _health()
    return {
        "seed": wish.seed,
        "kills": dict(sorted(kills.items())),
        "passed_s": round(watch.passed_s),
        "stood_still_s": watch.stood_still_s,
        "clock_set_by_s": watch.clock_set_by_s,
        "run_benchmark_exits": dict(Counter(exits)),
        "not_started_again": not_started,
        "died_by_themselves": dict(Counter(died)),
        "health": health,
        **found,
        "well": not any(wrong.values()) and not (any(exits) or not_started or died) and health == "ok",
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


def _alive() -> dict[str, int]:
    """The pids of the services that run."""
    from iba_site import services

    return {name: record.pid for name, record in services.status().items() if record}


def _kill(victim: str, dice: random.Random) -> list[str]:
    """kill -9, a pause, and a start, as whoever keeps services alive would do. Why it did not start, if so."""
    from django.db import connection

    from iba_site import services

    record = services.status()[victim]
    if record is not None:
        os.kill(record.pid, signal.SIGKILL)
    print(f"soak: killed {victim}", file=sys.stderr, flush=True)
    time.sleep(dice.uniform(0.2, LONGEST_DOWN_S))
    try:
        services.ensure(victim)
    except services.ServiceError as error:
        print(f"soak: {error}", file=sys.stderr, flush=True)
        return [str(error)]
    finally:
        connection.close()
    return []


def _health() -> str:
    """What the site says of itself once it has had time to see that all is there again."""
    from iba_site import services

    record = services.status()["web"]
    if record is None:
        return "the site does not run"
    deadline = time.monotonic() + WELL_AGAIN_S
    while True:
        try:
            with urllib.request.urlopen(f"{record.url}/healthz", timeout=10) as answer:  # noqa: S310 (our loopback)
                return str(json.load(answer)["status"])
        except urllib.error.HTTPError as error:
            said = error.read().decode(errors="replace")
        except OSError as error:
            said = str(error)
        if time.monotonic() > deadline:
            return said
        time.sleep(LOOK_S)


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
