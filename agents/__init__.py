"""The contestants. Knows no Django model: plain dataclasses in, a trajectory out."""
