"""Batches, assignments, drafts and adjudication: the human half of the score."""

from annotation.models.adjudication import AdjudicationItem
from annotation.models.assignment import Assignment, Batch, DraftGrade

__all__ = ["AdjudicationItem", "Assignment", "Batch", "DraftGrade"]
