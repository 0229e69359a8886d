"""The contestants. None imports another."""
