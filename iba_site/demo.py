"""`make demo`: services, dataset, one run of four methods on the stand-in, the table, the logins, the site."""

from __future__ import annotations

import os
import subprocess
import sys

from django.core.exceptions import ImproperlyConfigured

from iba_site import services
from iba_site.services import ServiceError

METHODS = "iba,rag,recency,no_history"
SERVICES = ("postgres", "redis", "embeddings", "offline", "worker")


def manage(*arguments: str) -> None:
    """One management command; its output is ours."""
    result = subprocess.run([sys.executable, "manage.py", *arguments], check=False)  # noqa: S603 (our own command)
    if result.returncode:
        sys.exit(result.returncode)


def main(arguments: list[str]) -> None:
    with_site = "--no-site" not in arguments
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "iba_site.settings")
    try:
        if with_site:
            services.check_port()  # before minutes of work, not after
        services.ensure(*SERVICES[:4])
        manage("migrate", "--verbosity", "0")
        services.ensure("worker")
        manage("build_dataset", "--name", "starter", "--size", "starter")
        manage("run_benchmark", "--dataset", "starter", "--methods", METHODS, "--model", "offline", "--reuse")
        manage("demo_users")
        if with_site:
            record = services.ensure("web")["web"]
            print(f"\nthe site is at {record.url}  (make stop ends it)")
    except (ServiceError, ImproperlyConfigured) as error:
        sys.exit(f"error: {error}")


if __name__ == "__main__":
    main(sys.argv[1:])
