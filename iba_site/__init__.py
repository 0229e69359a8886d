"""Wires the rooms together: settings, urls, queue, API root, access helpers, embedded services."""

from iba_site.celery import app as celery_app

__all__ = ["celery_app"]
