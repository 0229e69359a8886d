"""Validity gates, one file a family."""
