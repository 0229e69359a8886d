"""Batches, assignments and drafts: the human half of the score."""

from annotation.models.assignment import Assignment, Batch, DraftGrade

__all__ = ["Assignment", "Batch", "DraftGrade"]
