"""`make demo`: services, dataset, four methods on some of its tasks with the simulated reader, table, logins, site."""

from __future__ import annotations

import fcntl
import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager

from django.core.exceptions import ImproperlyConfigured

from iba_site import env, services
from iba_site.services import ServiceError

METHODS = "iba,rag,recency,no_history"
TASKS = "60"  # a part of every domain and persona: enough to see every page, within a minute and a half
SERVICES = ("postgres", "redis", "embeddings", "offline", "worker")


def manage(*arguments: str) -> None:
    """One management command; its output is ours."""
    result = subprocess.run([sys.executable, "manage.py", *arguments], check=False)  # noqa: S603 (our own command)
    if result.returncode:
        sys.exit(result.returncode)


@contextmanager
def only_one() -> Iterator[None]:
    """Two demos on one home would print logins of which one set is dead. Raises ServiceError for the second.

    The kernel lets go of the lock when its holder dies, however it dies.
    """
    with (services.manager.run_dir() / "demo.lock").open("a") as handle:
        try:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise ServiceError(
                f"another `make demo` is at work in {env.home()}. Wait for its end, or give this one a place of its "
                "own: IBA_HOME=/another/folder PORT=8001 make demo"
            ) from None
        yield


def main(arguments: list[str]) -> None:
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "iba_site.settings")
    try:
        with only_one():
            run(with_site="--no-site" not in arguments)
    except (ServiceError, ImproperlyConfigured) as error:
        sys.exit(f"error: {error}")


def run(*, with_site: bool) -> None:
    if with_site:
        services.check_port()  # before minutes of work, not after
    services.ensure(*SERVICES[:4])
    manage("migrate", "--verbosity", "0")
    services.ensure("worker")
    manage("build_dataset", "--name", "starter", "--size", "starter")
    run = ("run_benchmark", "--dataset", "starter", "--methods", METHODS, "--model", "offline")
    manage(*run, "--limit", TASKS, "--reuse")
    print(f"{TASKS} of the dataset's tasks; all of them: .venv/bin/python manage.py {' '.join(run)}\n")
    manage("demo_users")
    if with_site:
        record = services.ensure("web")["web"]
        print(f"\nthe site is at {record.url}  (make stop ends it)")


if __name__ == "__main__":
    main(sys.argv[1:])
