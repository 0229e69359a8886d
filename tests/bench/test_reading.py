"""Readers' audit on the site: blind pages, drafts that stay, answers that count as a person's."""

from __future__ import annotations

import json
from datetime import timedelta

import pytest
from django.contrib.auth.models import User
from django.utils import timezone

from annotation.models import Assignment, Batch, Reading, ReadingItem, Seat
from annotation.reading import NothingToRead, create_reading, next_seat, open_items
from bench.audit.report import answers_of
from bench.models import AuditAnswer, AuditQuestion, Checkpoint, Run, Trajectory, Unit
from tests.pages.conftest import HOSTILE, sign_in

HTMX = {"HTTP_HX_REQUEST": "true"}


@pytest.fixture
def reading(tiny):
    return make(tiny)


def make(dataset, *modes, size=3, seed=1, readers_wanted=1):
    return create_reading(
        dataset=dataset, modes=modes or ("gold", "none"), size=size, seed=seed, readers_wanted=readers_wanted,
        created_by=None,
    )  # fmt: skip


@pytest.fixture
def ann(db):
    return sign_in("annotator")


@pytest.fixture
def seat(reading, ann):
    ann.post("/annotate/read/next/")
    return Seat.objects.get()


def filled(seat, **more):
    """The first option of each question."""
    return {f"pick-{q['id']}": q["options"][0]["id"] for q in seat.item.content["questions"]} | more


def person():
    return User.objects.get(username="annotator-person")


def test_a_reading_holds_so_many_items_of_each_mode_and_no_task_twice(reading):
    items = ReadingItem.objects.filter(reading=reading)
    assert items.count() == 6
    assert items.values("task").distinct().count() == 6


def test_the_page_shows_request_records_and_options_and_nothing_of_gold(seat, ann):
    page = ann.get(f"/annotate/read/{seat.pk}/").content.decode()
    question = seat.item.content["questions"][0]
    assert question["options"][0]["id"] in page
    asked = AuditQuestion.objects.filter(public_id__in=[q["id"] for q in seat.item.content["questions"]])
    for row in asked.select_related("checkpoint__task"):
        assert row.checkpoint.dimension not in page
        assert row.checkpoint.text not in page
        assert row.checkpoint.task.slug not in page
        assert f'value="{row.checkpoint.value}"' not in page


def test_picks_become_answers_of_a_person_and_the_next_item_comes(seat, ann):
    response = ann.post(f"/annotate/read/{seat.pk}/", filled(seat))
    assert response.status_code == 302
    assert response.url != f"/annotate/read/{seat.pk}/"
    answers = answers_of(seat.item.reading.dataset)
    assert len(answers) == len(seat.item.content["questions"])
    assert {(answer.reader, answer.kind) for answer in answers} == {("annotator-person", "human")}


def test_a_question_without_pick_or_remark_is_named_and_nothing_is_stored(seat, ann):
    wanted = filled(seat)
    wanted.pop(next(iter(wanted)))
    response = ann.post(f"/annotate/read/{seat.pk}/", wanted)
    assert response.status_code == 422
    assert "question 1" in response.content.decode()
    assert response.content.decode().count(" checked") == len(wanted)
    assert not AuditAnswer.objects.exists()


def test_a_remark_may_stand_for_a_pick_and_a_comment_is_kept(seat, ann):
    first = seat.item.content["questions"][0]["id"]
    wanted = filled(seat, **{f"remark-{first}": ["two", "nonsense"], f"comment-{first}": f"Both. {HOSTILE}"})
    wanted.pop(f"pick-{first}")
    assert ann.post(f"/annotate/read/{seat.pk}/", wanted).status_code == 302
    answer = AuditAnswer.objects.get(question__public_id=first)
    assert (answer.value, answer.remarks) == ("", ["two"])
    assert answer.comment.startswith("Both.")
    assert HOSTILE not in ann.get(f"/annotate/read/{seat.pk}/").content.decode()


def test_a_draft_is_kept_and_stands_on_the_page_when_the_reader_comes_back(seat, ann):
    first = next(iter(filled(seat).items()))
    response = ann.post(f"/annotate/read/{seat.pk}/draft/", dict([first]), **HTMX)
    assert "saved" in response.content.decode()
    page = ann.get(f"/annotate/read/{seat.pk}/").content.decode()
    assert page.count(" checked") == 1
    assert "Go on reading" in ann.get("/annotate/").content.decode()
    assert ann.post("/annotate/read/next/").url == f"/annotate/read/{seat.pk}/"


def test_a_second_submit_changes_nothing(seat, ann):
    ann.post(f"/annotate/read/{seat.pk}/", filled(seat))
    before = list(AuditAnswer.objects.values_list("value", flat=True))
    other = {f"pick-{q['id']}": q["options"][1]["id"] for q in seat.item.content["questions"]}
    assert ann.post(f"/annotate/read/{seat.pk}/", other).status_code == 302
    assert list(AuditAnswer.objects.values_list("value", flat=True)) == before
    assert ann.post(f"/annotate/read/{seat.pk}/draft/", other, **HTMX).status_code == 422


def test_an_option_of_another_question_is_refused_in_words(seat, ann):
    wanted = filled(seat)
    wanted[next(iter(wanted))] = "f" * 16
    response = ann.post(f"/annotate/read/{seat.pk}/", wanted)
    assert response.status_code == 422
    assert "has no option" in response.content.decode()


@pytest.mark.parametrize("role", ["admin", "adjudicator"])
def test_nobody_who_may_look_gold_up_reads(reading, role):
    client = sign_in(role)
    assert "to be read" not in client.get("/annotate/").content.decode()
    response = client.post("/annotate/read/next/")
    assert response.status_code == 403
    assert "Readers must not be able to look gold up" in response.content.decode()


def test_nobody_opens_anothers_item(seat):
    other = sign_in("viewer")
    assert other.get(f"/annotate/read/{seat.pk}/").status_code == 403
    person().groups.clear()


def test_what_enough_others_read_or_have_begun_is_left_to_them(reading, seat):
    bea = User.objects.create_user("bea")
    now = timezone.now()
    assert seat.item not in open_items(reader_id=bea.pk, now=now)
    assert open_items(reader_id=bea.pk, now=now).count() == 5
    assert seat.item in open_items(reader_id=bea.pk, now=now + timedelta(hours=3))


def test_a_task_that_the_reader_has_graded_is_not_shown_to_them(reading, ann, tiny):
    item = open_items(reader_id=person().pk, now=timezone.now()).first()
    run = Run.objects.create(
        dataset=tiny, status="done", manifest={}, manifest_sha256="0" * 64, model="m", simulated=True
    )
    unit = Unit.objects.create(run=run, task=item.task, method="rag", status="scored")
    trajectory = Trajectory.objects.create(unit=unit, termination="completed", data={})
    batch = Batch.objects.create(run=run, name="b", rubric_version="1")
    Assignment.objects.create(batch=batch, trajectory=trajectory, rater=person(), lease_until=timezone.now())
    assert item not in open_items(reader_id=person().pk, now=timezone.now())


def test_a_second_reading_of_a_version_has_other_tasks_and_the_same_cues_are_not_asked_again(tiny):
    first, second = make(tiny), make(tiny, seed=2, size=2)
    tasks = [set(r.items.values_list("task", flat=True)) for r in (first, second)]
    assert not tasks[0] & tasks[1]
    make(tiny, "cue", size=5)
    with pytest.raises(NothingToRead, match="choose another seed"):
        make(tiny, "cue", size=5)


def test_an_administrator_makes_a_reading_and_sees_how_far_it_is(tiny):
    admin = sign_in("admin")
    wanted = {"dataset": tiny.pk, "modes": ["cue"], "size": 4, "readers_wanted": 2, "seed": 3}
    page = admin.post("/annotate/readings/new/", wanted, follow=True).content.decode()
    assert "holds 4 items for 2 readers each" in page
    assert "0 of 8" in page
    bad = admin.post("/annotate/readings/new/", {**wanted, "modes": []})
    assert bad.status_code == 422
    assert "Choose what readers are shown." in bad.content.decode()
    without_run = admin.post("/annotate/readings/new/", {**wanted, "method": "iba"})
    assert "Choose the run" in without_run.content.decode()


def test_a_reader_who_has_nothing_left_is_told_so(tiny, ann):
    make(tiny, "none", size=1)
    seat = next_seat(reader_id=person().pk, now=timezone.now())
    page = ann.post(f"/annotate/read/{seat.pk}/", filled(seat), follow=True).content.decode()
    assert "That was the last one for you." in page
    assert json.dumps(seat.item.content)
    assert Reading.objects.count() == 1
    assert Checkpoint.objects.exists()
