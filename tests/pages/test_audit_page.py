"""The readers' audit on the dataset page."""

from __future__ import annotations

import pytest

from bench.models import AuditAnswer, AuditQuestion, Checkpoint
from tests.pages.conftest import HOSTILE, finish, make_dataset, make_run, sign_in, trajectory_of


@pytest.fixture
def dataset(db):
    dataset = make_dataset()
    checkpoint = Checkpoint.objects.filter(kind="preference").earliest("pk")
    question = AuditQuestion.objects.create(
        dataset=dataset, public_id="0" * 16, mode="gold", checkpoint=checkpoint,
        options=[["a", checkpoint.value], ["b", "gold-is-not-this"]],
    )  # fmt: skip
    for reader in ("Ada", HOSTILE):
        AuditAnswer.objects.create(question=question, reader=reader, kind="human", value="gold-is-not-this")
    return dataset


def test_the_dataset_page_says_who_read_and_how_far_they_agree(dataset, viewer):
    page = viewer.get(f"/datasets/{dataset.name}/").content.decode()
    assert "solvable: request and gold events" in page
    assert "Ada" in page
    assert HOSTILE not in page


@pytest.mark.parametrize(("role", "sees"), [("admin", True), ("adjudicator", True), ("viewer", False)])
def test_errata_are_for_those_who_may_see_gold(dataset, role, sees):
    page = sign_in(role).get(f"/datasets/{dataset.name}/").content.decode()
    assert ("Errata" in page) is sees
    assert ("gold-is-not-this" in page) is sees


def test_a_version_that_nobody_read_says_how_to_make_a_quiz(db, viewer):
    dataset = make_dataset()
    assert "Nobody has read this version yet" in viewer.get(f"/datasets/{dataset.name}/").content.decode()


def erratum(dataset, checkpoint, verb):
    return f"/datasets/{dataset.name}/checkpoints/{checkpoint.pk}/{verb}/"


def test_an_administrator_retires_a_disputed_checkpoint_and_every_page_of_its_runs_says_so(dataset, admin):
    run = finish(make_run(dataset))
    checkpoint = Checkpoint.objects.filter(kind="preference").earliest("pk")
    assert "Retire checkpoint" in admin.get(f"/datasets/{dataset.name}/").content.decode()
    shown = admin.post(erratum(dataset, checkpoint, "retire"), {"reason": f"Two fit {HOSTILE}"}, follow=True)
    page = shown.content.decode()
    assert f"Checkpoint {checkpoint.pk} is retired. The dataset is {dataset.name} v1.1 now" in page
    assert HOSTILE not in page
    assert "1 of them since this run was launched" in admin.get(f"/runs/{run.pk}/").content.decode()
    trajectory = trajectory_of(run, "rag", checkpoint.task.scenario.action_kind)
    assert "found wrong; counted in no score" in admin.get(f"/trajectories/{trajectory.pk}/").content.decode()
    shown = admin.post(erratum(dataset, checkpoint, "put-back"), follow=True)
    assert "counts again" in shown.content.decode()


def test_retiring_without_a_reason_is_refused_in_words(dataset, admin):
    checkpoint = Checkpoint.objects.filter(kind="preference").earliest("pk")
    shown = admin.post(erratum(dataset, checkpoint, "retire"), {"reason": " "}, follow=True)
    assert "why the checkpoint is wrong" in shown.content.decode()
    assert not Checkpoint.objects.filter(retired=True).exists()


@pytest.mark.parametrize("role", ["adjudicator", "viewer", "annotator"])
def test_only_administrators_retire(dataset, role):
    checkpoint = Checkpoint.objects.filter(kind="preference").earliest("pk")
    client = sign_in(role)
    assert client.post(erratum(dataset, checkpoint, "retire"), {"reason": "Wrong."}).status_code == 403
    assert not Checkpoint.objects.filter(retired=True).exists()
    if role == "adjudicator":
        assert "Retire checkpoint" not in client.get(f"/datasets/{dataset.name}/").content.decode()


def test_a_checkpoint_of_another_dataset_is_not_found(dataset, admin):
    assert admin.post(f"/datasets/{dataset.name}/checkpoints/999999/retire/", {"reason": "x"}).status_code == 404
