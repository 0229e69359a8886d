"""The readers' audit on the dataset page."""

from __future__ import annotations

import pytest

from bench.models import AuditAnswer, AuditQuestion, Checkpoint
from tests.pages.conftest import HOSTILE, make_dataset, sign_in


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
