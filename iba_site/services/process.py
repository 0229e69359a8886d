"""One background process with its record on disk: start it, find it again, end it."""

from __future__ import annotations

import contextlib
import json
import os
import socket
import subprocess
import time
import urllib.error
import urllib.request
from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass
from pathlib import Path

import psutil

from bench.files import write_file

SAME_S = 0.1


class ServiceError(OSError):
    """A service cannot be started; the message says what is wrong and what to do."""


@dataclass(frozen=True)
class Record:
    """What run/<name>.json holds. A pid counts only together with its start time: pids are used again.

    ``started``: see ``started_at``.
    """

    name: str
    pid: int
    started: float
    url: str

    def process(self) -> psutil.Process | None:
        try:
            process = psutil.Process(self.pid)
            same = abs(started_at(process) - self.started) < SAME_S
            if same and process.status() == psutil.STATUS_ZOMBIE:
                self._bury()
                return None
            return process if same else None
        except psutil.NoSuchProcess:
            return None

    def _bury(self) -> None:
        """A dead child of ours keeps its pid until it is asked for, and others take it for alive."""
        with contextlib.suppress(ChildProcessError):
            os.waitpid(self.pid, os.WNOHANG)


def started_at(process: psutil.Process) -> float:
    """When it started, in seconds since boot where /proc tells it. The time of day would do on no machine whose clock
    is set: every service that runs would pass for another program. Raises psutil.NoSuchProcess."""
    try:
        told = Path(f"/proc/{process.pid}/stat").read_text()
    except OSError:
        return float(process.create_time())  # of macOS and Windows, or of none
    return int(told.rpartition(")")[2].split()[19]) / os.sysconf("SC_CLK_TCK")


def read(run_dir: Path, name: str) -> Record | None:
    try:
        found = json.loads((run_dir / f"{name}.json").read_text())
        return Record(str(found["name"]), int(found["pid"]), float(found["started"]), str(found["url"]))
    except (FileNotFoundError, ValueError, TypeError, KeyError):
        return None


def write(run_dir: Path, record: Record) -> None:
    write_file(run_dir / f"{record.name}.json", json.dumps(asdict(record)), mode=0o600)


def running(run_dir: Path, name: str) -> Record | None:
    """The record, if its process is alive. A record left by a kill -9 is not."""
    record = read(run_dir, name)
    return record if record and record.process() else None


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def port_taken(port: int) -> bool:
    with socket.socket() as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind(("127.0.0.1", port))
        except OSError:
            return True
    return False


def spawn(
    run_dir: Path,
    name: str,
    command: list[str],
    *,
    url: str,
    environment: dict[str, str] | None = None,
    user: str | None = None,
) -> Record:
    """Start in a session of its own, so that a closed terminal does not end it. Output goes to log/<name>.log."""
    log = run_dir.parent / "log" / f"{name}.log"
    log.parent.mkdir(parents=True, exist_ok=True)
    with log.open("ab") as output:
        process = subprocess.Popen(  # noqa: S603 (our own command line)
            command,
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=output,
            start_new_session=True,
            env={**os.environ, **(environment or {})},
            user=user,
        )
    process.returncode = 0  # it outlives us on purpose; Popen must not warn of that
    record = Record(name, process.pid, started_at(psutil.Process(process.pid)), url)
    write(run_dir, record)
    return record


def wait_until(ready: Callable[[], bool], record: Record, run_dir: Path, *, seconds: float = 90) -> None:
    """Poll until ready. Raises ServiceError with the log's last lines if it dies or takes too long."""
    deadline = time.monotonic() + seconds
    while time.monotonic() < deadline:
        if ready():
            return
        if record.process() is None:
            break
        time.sleep(0.05)
    log = run_dir.parent / "log" / f"{record.name}.log"
    tail = "\n".join(log.read_text(errors="replace").splitlines()[-8:]) if log.exists() else ""
    end(run_dir, record.name)
    raise ServiceError(f"{record.name} did not start. The end of log/{log.name} says:\n{tail}")


def answers(url: str) -> bool:
    try:
        with urllib.request.urlopen(url, timeout=2) as response:  # noqa: S310 (our own loopback url)
            return bool(response.status == 200)
    except (urllib.error.URLError, OSError):
        return False


def end(run_dir: Path, name: str, *, seconds: float = 15) -> bool:
    """End the process and its children; kill what does not go in time. False if nothing ran."""
    record = read(run_dir, name)
    process = record.process() if record else None
    if process is not None:
        family = [process, *process.children(recursive=True)]
        with contextlib.suppress(psutil.NoSuchProcess):
            process.terminate()
        _, alive = psutil.wait_procs(family[:1], timeout=seconds)
        for one in [*alive, *_still_alive(family[1:])]:
            with contextlib.suppress(psutil.NoSuchProcess):
                one.kill()
    (run_dir / f"{name}.json").unlink(missing_ok=True)
    return process is not None


def _still_alive(processes: list[psutil.Process]) -> Iterator[psutil.Process]:
    return (process for process in processes if process.is_running())
