"""The one way to an assignment: its rater's own."""

from __future__ import annotations

from django.http import HttpRequest
from django.shortcuts import get_object_or_404

from annotation.models import Assignment


def own_assignment(request: HttpRequest, pk: int, *, to_read: bool = False) -> Assignment:
    """404 for anybody but its rater, whatever the role: nobody reads another's draft.

    ``to_read``: with the trajectory and its task, of which a save needs nothing.
    """
    mine = Assignment.objects.filter(rater_id=request.user.pk).select_related("batch", "rater")
    if to_read:
        mine = mine.select_related("trajectory__unit__task__scenario__domain")
    return get_object_or_404(mine, pk=pk)
