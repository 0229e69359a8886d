"""Opening a run for an agent elsewhere, and how the run is marked."""

from __future__ import annotations

import httpx
import pytest

from bench.models import Run
from tests.site.external.support import WISH, open_run, refused

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.mark.parametrize("missing", ["model", "judges"])
def test_model_and_judges_are_asked_for(client: httpx.Client, missing: str):
    wish = {key: value for key, value in WISH.items() if key != missing}
    assert refused(client.post("/api/external/runs", json=wish), 422, f"{missing}: Field required")


def test_an_agent_with_a_model_of_its_own_is_not_simulated_and_the_name_is_recorded(client: httpx.Client):
    run = Run.objects.get(pk=open_run(client, model="Claude & co. 4", judges=[]))
    assert (run.simulated, run.model, run.manifest["model"]["simulated"]) == (False, "Claude & co. 4", False)
    assert run.manifest["policy"]["panel"] == []


def test_an_agent_on_the_simulated_model_is_marked(client: httpx.Client):
    assert Run.objects.get(pk=open_run(client, judges=[])).simulated


def test_simulated_judges_do_not_grade_a_real_agent(client: httpx.Client):
    answer = client.post("/api/external/runs", json={**WISH, "model": "claude"})
    assert refused(answer, 422, "judge 'offline-judge-a' is simulated and model 'claude' is not")


@pytest.mark.parametrize("name", ["x", "a b", "Caps", "a/b", "x" * 29, "n\u00e4me"])
def test_the_rule_of_a_methods_name_is_told_in_words(client: httpx.Client, name: str):
    answer = client.post("/api/external/runs", json={**WISH, "name": name})
    assert refused(answer, 422, "name: ")
    assert answer.json()["error"].endswith("use 2 to 28 small letters (a to z), digits and _")
