"""Connections in threads that mostly wait."""

from __future__ import annotations

from django.db import connection


def release_connection() -> None:
    """Give the thread's connection back to the pool before a long wait; within a transaction it stays."""
    if not connection.in_atomic_block:
        connection.close()
