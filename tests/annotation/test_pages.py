"""What the server sends to whom, and what a plain form without JavaScript can do."""

import pytest
from django.urls import reverse
from django.utils import timezone

from annotation.grading import rubric, save_grade
from annotation.models import Assignment, Batch, Place, SetAside
from annotation.queue import LEASE, free_ended, take_next
from bench.models import CheckpointScore, Trajectory, Verdict
from tests.annotation import factories
from tests.annotation.factories import MODEL, PANEL
from tests.annotation.factories import grade as give

HTMX = {"HTTP_HX_REQUEST": "true"}


@pytest.fixture
def mine(make_batch, cast, now):
    """ann's assignment on a trajectory that ends in a text."""
    make_batch(size=8)
    for _ in range(8):
        assignment = take_next(rater_id=cast["ann"].pk, now=timezone.now())
        if assignment.trajectory.unit.task.slug == "meal":
            return assignment
        Assignment.objects.filter(pk=assignment.pk).update(committed_at=timezone.now())
    raise AssertionError("no meal among the trajectories")


def page(assignment):
    return reverse("grade", args=[assignment.pk])


def save_url(assignment, position=0):
    return reverse("save_grade", args=[assignment.pk, rubric(assignment)[position].checkpoint.pk])


def grade_all(assignment, now, value="pass"):
    for line in rubric(assignment):
        save_grade(assignment=assignment, checkpoint_id=line.checkpoint.pk, now=now, value=value)


@pytest.mark.parametrize(
    ("path", "allowed"),
    [("/annotate/", {"ada", "otto", "ann"}), ("/annotate/batches/new/", {"ada"}), ("/adjudicate/", {"ada", "otto"}),
     ("/agreement/", {"ada", "otto", "vera"})],
)  # fmt: skip
def test_each_page_opens_for_its_roles_only(as_user, path, allowed):
    for name in ("ada", "otto", "ann", "vera", "olga"):
        assert (as_user(name).get(path).status_code == 200) == (name in allowed), name


def test_the_grading_page_names_no_method_model_judge_or_verdict(as_user, mine, cast, now):
    give(mine.trajectory, cast["ben"], {0: "fail", 1: "fail"})
    html = as_user("ann").get(page(mine)).content.decode()
    method = mine.trajectory.unit.method
    for secret in (
        MODEL,
        *PANEL,
        "thinks",
        "I say",
        "ben",
        "search_history",
        "simulated",
        "constraint",
        ">iba<",
        method + " ran",
    ):
        assert secret not in html, secret
    assert "leek soup" in html
    assert "crown comes off" in html
    assert "No course needs chewing" in html


def test_the_queue_names_no_method_model_or_batch_note(as_user, mine):
    Batch.objects.update(name="rag against iba")
    html = as_user("ann").get("/annotate/").content.decode()
    assert "Go on" in html
    for secret in (MODEL, "rag", *PANEL):
        assert secret not in html


def test_nobody_opens_anothers_assignment(as_user, mine):
    for name in ("ben", "ada", "otto"):
        assert as_user(name).get(page(mine)).status_code == 404
        assert as_user(name).post(save_url(mine), {"value": "pass"}).status_code == 404


def test_a_grade_saved_without_javascript_leads_back_to_its_checkpoint(as_user, mine):
    response = as_user("ann").post(save_url(mine), {"value": "fail"})
    assert response.status_code == 302
    assert response.url.endswith("#checkpoint-1")
    assert 'aria-pressed="true"' in as_user("ann").get(response.url).content.decode()


def test_an_autosave_answers_with_the_count_and_the_servers_time(as_user, mine):
    html = as_user("ann").post(save_url(mine), {"value": "pass"}, **HTMX).content.decode()
    saved = mine.drafts.get().saved_at
    assert "<b>1 of 2</b>" in html
    assert f"{saved:%H:%M:%S}</time>" in html
    assert 'hx-swap-oob="true"' in html
    assert "<html" not in html


def test_a_bad_grade_answers_422_with_the_fragment(as_user, mine):
    response = as_user("ann").post(save_url(mine), {"value": "great"}, **HTMX)
    assert response.status_code == 422
    assert "is no grade" in response.content.decode()


def test_a_submit_with_open_checkpoints_answers_422_and_names_them(as_user, mine):
    as_user("ann").post(save_url(mine), {"value": "pass"})
    response = as_user("ann").post(page(mine))
    assert response.status_code == 422
    assert "grade checkpoint 2 first" in response.content.decode()


def test_a_comment_typed_at_the_last_moment_is_submitted_too(as_user, mine, now):
    grade_all(mine, now)
    second = rubric(mine)[1].checkpoint.pk
    as_user("ann").post(page(mine), {f"comment-{second}": "Soft\r\nall through."})
    assert Verdict.objects.get(source="human", checkpoint_id=second).rationale == "Soft\nall through."


def test_submit_and_next_opens_the_next_and_a_double_submit_is_harmless(as_user, mine, now):
    grade_all(mine, now)
    first = as_user("ann").post(page(mine))
    count = Verdict.objects.filter(source="human").count()
    second = as_user("ann").post(page(mine))
    if "after=" in first.url:
        assert second.url == first.url
    assert Verdict.objects.filter(source="human").count() == count == 2


def test_the_last_submit_leads_to_the_reveal(as_user, mine, now):
    Assignment.objects.exclude(pk=mine.pk).update(committed_at=now)
    Batch.trajectories.through.objects.exclude(trajectory_id=mine.trajectory_id).delete()
    grade_all(mine, now)
    response = as_user("ann").post(page(mine), follow=True)
    html = response.content.decode()
    assert response.redirect_chain[-1][0] == reverse("reveal", args=[mine.pk])
    assert "That was the last one for you" in html
    assert "judge-north thinks pass" in html
    assert "no other rater has graded this yet" in html


def test_the_reveal_stays_shut_before_the_submit(as_user, mine):
    response = as_user("ann").get(reverse("reveal", args=[mine.pk]))
    assert response.url == page(mine)


def test_a_graded_page_leads_to_its_reveal(as_user, mine, now):
    Assignment.objects.filter(pk=mine.pk).update(committed_at=now)
    assert as_user("ann").get(page(mine)).url == reverse("reveal", args=[mine.pk])


def test_hostile_text_stays_text(as_user, mine):
    data = mine.trajectory.data
    data["action"]["text"] = "<script>alert(1)</script>"
    type(mine.trajectory).objects.filter(pk=mine.trajectory_id).update(data=data)
    html = as_user("ann").get(page(mine)).content.decode()
    assert "<script>alert" not in html
    assert "&lt;script&gt;alert(1)" in html


def test_the_grading_page_asks_a_fixed_number_of_queries(as_user, mine, django_assert_max_num_queries):
    client = as_user("ann")
    with django_assert_max_num_queries(18):
        client.get(page(mine))


def test_a_save_and_a_submit_take_a_fixed_number_of_statements(as_user, mine, django_assert_max_num_queries):
    """Savepoints of the test's own transaction are among them; before, a save took 21 and a submit 47."""
    client = as_user("ann")
    grade_all(mine, timezone.now())
    address = save_url(mine)
    with django_assert_max_num_queries(11):
        assert client.post(address, {"value": "fail"}, **HTMX).status_code == 200
    with django_assert_max_num_queries(33):
        assert client.post(page(mine)).status_code == 302
    assert Assignment.objects.get(pk=mine.pk).committed_at is not None


def test_an_admin_makes_a_batch_and_an_empty_choice_says_why(as_user, run):
    client = as_user("ada")
    given = {"run": run.pk, "choice": "domain", "domain": "dining", "raters_wanted": 2, "size": 3}
    assert client.post("/annotate/batches/new/", given).status_code == 302
    assert Batch.objects.get().trajectories.count() == 3
    response = client.post("/annotate/batches/new/", {**given, "choice": "audit", "domain": ""})
    assert response.status_code == 422
    assert "has no audit trajectories" in response.content.decode()
    assert client.post("/annotate/batches/new/", {**given, "domain": ""}).status_code == 422


def test_a_decision_leads_to_the_next_case_and_then_to_the_empty_list(as_user, meal, cast):
    give(meal, cast["ann"], {0: "pass", 1: "pass"})
    give(meal, cast["ben"], {0: "fail", 1: "fail"})
    client = as_user("otto")
    assert "2 checkpoints to settle" in client.get("/adjudicate/").content.decode()
    first, second = (
        reverse("case", args=[s.trajectory_id, s.checkpoint_id]) for s in CheckpointScore.objects.to_adjudicate()
    )
    html = client.get(first).content.decode()
    assert all(name not in html for name in ("ann<", "ben<", *PANEL[:0]))
    refused = client.post(first, {"value": "pass", "reason": ""})
    assert refused.status_code == 422
    assert "short reason" in refused.content.decode()
    assert client.post(first, {"value": "pass", "reason": "Two are named."}).url == second
    last = client.post(second, {"value": "fail", "reason": "Crackling."}, follow=True)
    assert "Nothing to settle" in last.content.decode()
    assert client.post(second, {"value": "pass", "reason": "Again."}).url == "/adjudicate/"


def test_a_rater_is_anonymous_to_the_adjudicator(as_user, meal, cast):
    give(meal, cast["cleo"], {1: "pass"})
    give(meal, cast["ben"], {1: "fail"})
    html = (
        as_user("otto")
        .get(reverse("case", args=[meal.pk, meal.unit.task.checkpoints.get(position=1).pk]))
        .content.decode()
    )
    assert "cleo" not in html
    assert ">ben" not in html


def test_a_rater_whose_place_was_taken_is_led_on_by_queue_and_page(as_user, mine, cast):
    Place.objects.update(wanted=1)
    past = timezone.now() - LEASE
    Assignment.objects.filter(pk=mine.pk).update(lease_until=past)
    free_ended(now=timezone.now())
    factories.seat(mine.batch, mine.trajectory, cast["ben"], until=timezone.now() + LEASE)
    client = as_user("ann")
    html = client.get(page(mine)).content.decode()
    assert "Your draft is kept; go on with the next." in html
    assert reverse("next_assignment") in html
    assert "You have begun one" not in client.get("/annotate/").content.decode()
    assert client.post(page(mine)).status_code == 422


def test_a_part_is_chosen_from_a_list_and_one_that_is_not_there_is_refused(as_user, mine):
    first = rubric(mine)[0].checkpoint.pk
    client = as_user("ann")
    assert f'name="anchor-{first}"' in client.get(page(mine)).content.decode()
    response = client.post(save_url(mine), {f"anchor-{first}": "sentence:2"}, follow=True)
    assert '<option value="sentence:2" selected>' in response.content.decode()
    refused = client.post(save_url(mine), {f"anchor-{first}": "step:2"}, **HTMX)
    assert refused.status_code == 422
    assert "has no part" in refused.content.decode()
    assert rubric(mine)[0].anchor == "sentence:2"


def test_an_anchor_chosen_at_the_last_moment_is_submitted_too(as_user, mine, now):
    grade_all(mine, now)
    second = rubric(mine)[1].checkpoint.pk
    as_user("ann").post(page(mine), {f"anchor-{second}": "request"})
    assert Verdict.objects.get(source="human", checkpoint_id=second).anchor == "request"


def test_a_page_that_shows_other_grades_than_are_kept_is_not_submitted(as_user, mine, now):
    grade_all(mine, now)
    second = rubric(mine)[1].checkpoint.pk
    response = as_user("ann").post(page(mine), {f"shown-{second}": ""})
    assert response.status_code == 422
    assert "checkpoint 2 was graded anew in another tab" in response.content.decode()
    assert not Verdict.objects.filter(source="human").exists()


def test_the_reveal_and_the_case_lead_to_what_a_comment_points_at(as_user, meal, cast, make_batch, now):
    give(meal, cast["ben"], {0: "pass", 1: "pass"})
    give(meal, cast["cleo"], {0: "fail", 1: "pass"}, anchor="sentence:2")
    case = reverse("case", args=[meal.pk, meal.unit.task.checkpoints.get(position=0).pk])
    html = as_user("otto").get(case).content.decode()
    assert 'href="#sentence:2"' in html
    assert 'id="sentence:2" data-part="sentence:2"' in html
    assert html.count("anchored") == 1
    batch = make_batch()
    own = factories.seat(batch, meal, cast["cleo"], until=now, committed=now)
    html = as_user("cleo").get(reverse("reveal", args=[own.pk])).content.decode()
    assert 'href="#sentence:2"' in html
    assert '<sup class="pin shade-own">1</sup>' in html


def test_a_case_that_changed_since_it_was_opened_comes_back_with_what_was_typed(as_user, meal, cast):
    give(meal, cast["ann"], {0: "pass"})
    give(meal, cast["ben"], {0: "fail"})
    case = reverse("case", args=[meal.pk, meal.unit.task.checkpoints.get(position=0).pk])
    client = as_user("otto")
    seen = client.get(case).context["case"].newest
    give(meal, cast["cleo"], {0: "fail"})
    decision = {"value": "pass", "reason": "Two courses are named.", "seen": seen}
    refused = client.post(case, decision)
    assert refused.status_code == 422
    html = refused.content.decode()
    assert "A verdict has come in since you opened this case" in html
    assert "Two courses are named." in html
    assert 'class="letter">C<' in html
    newer = refused.context["case"].newest
    assert client.post(case, {**decision, "seen": newer}).status_code == 302


# --- An item whose page cannot be drawn


@pytest.fixture
def broken(mine):
    """ann's assignment, on a trajectory of a format that no version reads."""
    Trajectory.objects.filter(pk=mine.trajectory_id).update(data={"format": 99})
    return mine


def test_an_item_that_cannot_be_drawn_is_set_aside_and_next_goes_on(as_user, cast, broken):
    client = as_user("ann")
    answer = client.get(page(broken))
    following = take_next(rater_id=cast["ann"].pk, now=timezone.now())
    assert following.trajectory_id != broken.trajectory_id
    assert (answer.status_code, answer["Location"]) == (302, page(following))
    assert b"It was set aside with a note for administrators." in client.get(answer["Location"]).content
    taken = set()
    while (one := take_next(rater_id=cast["ann"].pk, now=timezone.now())) is not None:
        taken.add(one.trajectory_id)
        Assignment.objects.filter(pk=one.pk).update(committed_at=timezone.now())
    assert broken.trajectory_id not in taken
    assert taken


def test_a_rater_whose_last_item_is_set_aside_comes_to_the_queue(as_user, cast, broken):
    Assignment.objects.exclude(pk=broken.pk).update(committed_at=timezone.now())
    Batch.trajectories.through.objects.exclude(trajectory_id=broken.trajectory_id).delete()
    assert as_user("ann").get(page(broken))["Location"] == reverse("annotate")


def test_an_administrator_reads_why_an_item_was_set_aside_and_puts_it_back(as_user, cast, broken):
    as_user("ann").get(page(broken))
    listed = as_user("ada").get(reverse("new_batch")).content.decode()
    assert f"trajectory {broken.trajectory_id}" in listed
    assert "trajectory format 99 is not readable" in listed
    plain = as_user("ada").get(reverse("trajectory", args=[broken.trajectory_id]))
    assert (plain.status_code, b"cannot be drawn" in plain.content) == (200, True)
    back = reverse("put_back", args=[broken.trajectory_id])
    assert as_user("ann").post(back).status_code == 403
    assert SetAside.objects.exists()
    assert as_user("ada").post(back).status_code == 302
    assert not SetAside.objects.exists()


@pytest.mark.parametrize("content", ["a text", 7, ["x"], {"items": "none"}])
def test_an_odd_look_up_does_not_stop_the_page(as_user, mine, content):
    data = {"tool": "find_tables", "arguments": content, "content": content}
    task = mine.trajectory.unit.task
    task.tools = [{"name": "find_tables", "description": "", "commits": False, "parameters": {}}]
    task.save()
    step = {"stage": "act", "kind": "tool", "summary": "x", "data": data}
    Trajectory.objects.filter(pk=mine.trajectory_id).update(data={**mine.trajectory.data, "steps": [step]})
    assert as_user("ann").get(page(mine)).status_code == 200
    assert not SetAside.objects.exists()
