"""`python -m iba_site.services start|stop|status [name ...]`"""

from __future__ import annotations

import sys

from django.core.exceptions import ImproperlyConfigured

from iba_site.services import ServiceError, ensure, status, stop


def main(arguments: list[str]) -> int:
    if not arguments or arguments[0] not in {"start", "stop", "status"}:
        print("usage: python -m iba_site.services start|stop|status [name ...]", file=sys.stderr)
        return 2
    verb, names = arguments[0], arguments[1:]
    try:
        if verb == "start":
            ensure(*names)
        elif verb == "stop":
            for name in stop(*names):
                print(f"stopped {name}", file=sys.stderr)
        found = {} if verb == "stop" else status()
    except (ServiceError, ImproperlyConfigured) as error:
        print(f"error: {error}", file=sys.stderr)
        return 1
    for name, record in found.items():
        print(f"{name:11} {'running, pid ' + str(record.pid) if record else 'not running'}", file=sys.stderr)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
