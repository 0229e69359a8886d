"""The queue. `celery -A iba_site.celery worker`."""

from __future__ import annotations

import os

from celery import Celery

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "iba_site.settings")

app = Celery("iba")
app.config_from_object("django.conf:settings", namespace="CELERY")
app.autodiscover_tasks(["bench.runs"])
