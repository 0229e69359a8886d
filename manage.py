#!/usr/bin/env python
"""Django's command line. Starts the embedded database and queue where no others are named."""

import os
import sys


def main() -> None:
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "iba_site.settings")
    from django.core.exceptions import ImproperlyConfigured

    from iba_site.services import ServiceError, ensure_for_command

    try:
        ensure_for_command(sys.argv[1:])

        from django.core.management import execute_from_command_line

        execute_from_command_line(sys.argv)
    except (ServiceError, ImproperlyConfigured) as error:
        sys.exit(f"error: {error}")


if __name__ == "__main__":
    main()
