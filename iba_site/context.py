from __future__ import annotations

from django.http import HttpRequest

from bench.access import role_of


def site(request: HttpRequest) -> dict[str, object]:
    """What every page needs: the signed-in person's role."""
    user = getattr(request, "user", None)
    return {"role": role_of(user) if user is not None and user.is_authenticated else None}
