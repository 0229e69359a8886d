"""Scores: rules, judges, the one combination, and the statistics over them. No database here."""
