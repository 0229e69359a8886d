"""Runs: launch, claim, execute, progress. One unit of work is one (run, task, method, repeat)."""
