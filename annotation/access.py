"""The one way to an assignment: its rater's own."""

from __future__ import annotations

from django.http import HttpRequest
from django.shortcuts import get_object_or_404

from annotation.models import Assignment


def own_assignment(request: HttpRequest, pk: int) -> Assignment:
    """404 for anybody but its rater, whatever the role: nobody reads another's draft."""
    mine = Assignment.objects.filter(rater_id=request.user.pk)
    related = ("batch", "rater", "trajectory__unit__task__scenario__domain")
    return get_object_or_404(mine.select_related(*related), pk=pk)
