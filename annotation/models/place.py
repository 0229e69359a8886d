from __future__ import annotations

from django.db import models
from django.db.models import F, Q

from annotation.models.assignment import Batch
from bench.models import Trajectory


class Place(models.Model):
    """One trajectory of one batch, with a seat for each rater that is wanted.

    ``taken`` is the number of its assignments that are seated. It is counted as they come and go, under the row's lock,
    so that the next place is found by an index and not by counting.
    """

    batch = models.ForeignKey(Batch, models.CASCADE, related_name="places")
    trajectory = models.ForeignKey(Trajectory, models.CASCADE, related_name="places")
    wanted = models.PositiveSmallIntegerField()
    taken = models.PositiveSmallIntegerField(default=0)

    class Meta:
        db_table = "annotation_batch_trajectories"
        unique_together = [("batch", "trajectory")]
        constraints = [
            models.CheckConstraint(condition=Q(taken__lte=F("wanted")), name="place_never_overfull"),
        ]
        indexes = [
            models.Index(fields=["taken", "batch", "id"], condition=Q(taken__lt=F("wanted")), name="place_open"),
        ]
