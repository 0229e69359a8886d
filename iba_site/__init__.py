"""Wires the rooms together: settings, urls, queue, API root, access helpers, embedded services."""
