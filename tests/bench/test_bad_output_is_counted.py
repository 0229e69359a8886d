"""Replies that could not be used were bought all the same: calls, tokens and cost stand in the cell and on the page."""

from __future__ import annotations

import re

import pytest
from django.contrib.auth.models import Group, User
from django.contrib.humanize.templatetags.humanize import intcomma
from django.db.models import Count, Sum
from django.test import Client

from bench.models import Endpoint, ModelCall, Run, Task, Trajectory
from bench.pages import numbers
from bench.results.report import results_of
from bench.runs.launch import launch_run
from bench.runs.spec import RunSpec
from tests.bench.live import wait_until_over


@pytest.mark.django_db(transaction=True)
@pytest.mark.parametrize("method", ["iba", "rag"])
def test_calls_tokens_and_cost_of_replies_that_ended_as_bad_output_stand_in_the_cell_and_on_the_page(
    method, tiny, offline, worker
):
    """The model garbles every JSON reply, at 1,000 USD a million tokens in and 2,000 out; its judge is free."""
    Endpoint.objects.create(
        slug="garbled", base_url=offline.url, model="offline+malformed_json=1", family="stand-in",
        price_in_per_mtok_usd=1000, price_out_per_mtok_usd=2000,
    )  # fmt: skip
    Endpoint.objects.create(slug="judge", base_url=offline.url, model="offline-judge-a")
    calls = Task.objects.filter(persona__dataset=tiny, scenario__action_kind="call_api")
    domain = calls.values_list("scenario__domain__slug", flat=True).order_by("scenario__domain__slug")[
        0
    ]  # a text need not be JSON, a call must
    wish = RunSpec(dataset="tiny", methods=[method], model="garbled", judges=["judge"], domains=[domain])
    run = wait_until_over(launch_run(wish))
    endings = set(Trajectory.objects.filter(unit__run=run).values_list("termination", flat=True))
    assert "bad_output" in endings
    (cell,) = results_of(Run.objects.get(pk=run.pk))["cells"]
    bill = ModelCall.objects.filter(unit__run=run, endpoint="garbled").aggregate(
        calls=Count("pk"), tokens_in=Sum("tokens_in"), tokens_out=Sum("tokens_out"), cost=Sum("cost_usd")
    )
    assert (cell["llm_calls"], cell["tokens_in"], cell["tokens_out"]) == (
        bill["calls"], bill["tokens_in"], bill["tokens_out"]
    )  # fmt: skip
    assert cell["llm_calls"] >= 4  # of each unit; none is left out, nor the requests to mend a reply
    # 1,000 USD a million tokens is a tenth of a cent a token
    cost = bill["tokens_in"] / 1000 + bill["tokens_out"] / 500
    assert cell["cost_usd"] == pytest.approx(cost) == pytest.approx(Run.objects.get(pk=run.pk).spent_usd)

    viewer, client = User.objects.create_user("viewer-person"), Client()
    viewer.groups.add(Group.objects.get(name="viewer"))
    client.force_login(viewer)
    html = client.get(f"/runs/{run.pk}/").content.decode()
    tokens = intcomma(cell["tokens_in"] + cell["tokens_out"])
    shown = rf'title="{cell["llm_calls"]} model calls">\s*{tokens}\s*</td>'
    assert re.search(rf'{shown}\s*<td class="n">{re.escape(numbers.usd(cell["cost_usd"]))}</td>', html)
