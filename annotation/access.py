"""The one way to an assignment: its rater's own."""

from __future__ import annotations

from django.http import HttpRequest
from django.shortcuts import get_object_or_404

from annotation.models import Assignment

TO_SUBMIT = ("batch",)
TO_READ = ("batch", "trajectory__unit__task__scenario__domain")


def own_assignment(request: HttpRequest, pk: int, *related: str) -> Assignment:
    """404 for anybody but its rater, whatever the role: nobody reads another's draft.

    ``related``: what is read with it, such as TO_READ; a save needs nothing.
    """
    mine = Assignment.objects.filter(rater_id=request.user.pk)
    assignment = get_object_or_404(mine.select_related(*related) if related else mine, pk=pk)
    assert request.user.is_authenticated  # noqa: S101 (else none of them is theirs)
    assignment.rater = request.user
    return assignment
