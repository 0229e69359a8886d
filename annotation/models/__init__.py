"""Batches, assignments and drafts: the human half of the score."""

from annotation.models.assignment import Assignment, Batch, DraftGrade
from annotation.models.place import Place
from annotation.models.reading import Reading, ReadingItem, Seat
from annotation.models.set_aside import SetAside

__all__ = ["Assignment", "Batch", "DraftGrade", "Place", "Reading", "ReadingItem", "Seat", "SetAside"]
