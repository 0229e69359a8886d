"""Personas, histories and tasks from the catalogue, a seed and nothing else."""
