"""What is away fails nothing and becomes no verdict: units go back, the run says why, and goes on by itself."""

from __future__ import annotations

from datetime import timedelta

import pytest
from django.db import OperationalError, connection
from django.utils import timezone

from agents.contract import EndpointAway, EndpointBusy, LLMError, ServiceAway, Usage
from agents.model import transport
from agents.model.endpoints import StoredCall
from agents.registry import AGENTS
from bench import database, redis_server
from bench.models import Endpoint, ModelCall, OutageRow, Run, Trajectory, Unit, Verdict
from bench.runs import calls, outages, probes, tasks
from bench.runs.claim import MAX_ATTEMPTS, take_for_queue
from bench.runs.execute import act
from bench.runs.launch import launch_run
from bench.runs.progress import progress_of
from bench.runs.spec import RunSpec
from bench.runs.worker import WORKER, Heart
from bench.search import vectors
from iba_site import services

DEAD = "http://127.0.0.1:9/v1"  # the discard port: nobody answers
JUDGES = ["offline-judge-a", "offline-judge-b", "offline-judge-c"]
REGISTERED = [f"our-{name}" for name in JUDGES]  # those of the simulated model grade nothing else


@pytest.fixture(autouse=True)
def nothing_seen(db):
    """This process's copy of the table, which each test starts empty."""
    outages.look()
    yield
    with outages._seen._lock:
        outages._seen._rows = {}


@pytest.fixture
def run(tiny, offline):
    return launch_run(RunSpec(dataset="tiny", methods=["rag"], model="offline", limit=3))


@pytest.fixture
def unit(run):
    return Unit.objects.filter(run=run).first()


@pytest.fixture
def text_unit(run):
    unit = Unit.objects.filter(run=run).first()
    texts = type(unit.task).objects.of_dataset(run.dataset_id).filter(scenario__action_kind="generate")
    Unit.objects.filter(pk=unit.pk).update(task=texts.first())
    return unit


def registered(slug, model="offline", url=DEAD, **fields):
    values = {"base_url": url, "model": model, "family": "other", "timeout_s": 5.0, "system_role": True, **fields}
    return Endpoint.objects.create(slug=slug, **values)


def work_on(unit, run, task=tasks.act_unit):
    task.run(unit.pk, run.pk)
    unit.refresh_from_db()
    return unit


def row_of(away):
    return OutageRow.objects.filter(away=away).first()


def probe_now(away):
    OutageRow.objects.filter(away=away).update(probe_at=timezone.now())
    probes.tick()


# --- Services of ours


def test_without_redis_a_unit_goes_back_and_the_run_says_since_when_it_waits(run, unit, redis_away):
    redis_away()
    work_on(unit, run)
    assert (unit.status, unit.claimed_by, unit.attempts, unit.waits, unit.waits_for) == ("queued", "", 0, 1, "Redis")
    assert unit.wait_until > timezone.now()
    (waiting,) = progress_of(run).waiting
    assert str(waiting).startswith(f"waiting for Redis since {waiting.since:%H:%M} UTC: Error 111 connecting")
    assert not Trajectory.objects.exists()


def test_with_redis_back_the_next_probe_sends_the_units_again(run, unit, redis_away):
    redis_away()
    work_on(unit, run)
    probe_now("Redis")
    assert row_of("Redis") is not None
    redis_away(False)
    probe_now("Redis")
    assert row_of("Redis") is None
    unit.refresh_from_db()
    assert (unit.wait_until, unit.waits) == (None, 0)
    assert unit.enqueued_at is not None
    assert progress_of(run).waiting == []
    assert work_on(unit, run).status in {"scored", "acted"}


def test_without_redis_no_judge_gives_an_empty_verdict(run, text_unit, redis_away):
    act(text_unit.pk, "here")
    redis_away()
    work_on(text_unit, run, tasks.judge_unit)
    assert (text_unit.status, text_unit.waits_for, text_unit.attempts) == ("acted", "Redis", 0)
    assert not Verdict.objects.filter(source="judge").exists()
    redis_away(False)
    work_on(text_unit, run, tasks.judge_unit)
    assert text_unit.status == "scored"
    assert "" not in Verdict.objects.filter(source="judge").values_list("value", flat=True)


def test_dead_embeddings_fail_no_unit(run, unit, monkeypatch, embeddings):
    there = services.embeddings_url()
    vectors.query_vector.cache_clear()
    connection.cursor().execute("DELETE FROM bench_textvector WHERE kind = 'query'")
    monkeypatch.setenv("EMBEDDINGS_URL", DEAD)
    work_on(unit, run)
    assert (unit.status, unit.waits_for) == ("queued", "embeddings")
    assert "can't be reached" in progress_of(run).waiting[0].reason
    assert take_for_queue(run.pk) == []  # nothing is sent that would come back
    monkeypatch.setenv("EMBEDDINGS_URL", there)
    probe_now("embeddings")
    assert work_on(unit, run).status in {"scored", "acted"}


def test_the_pause_grows_each_time_and_a_recovery_ends_it(run, unit, redis_away):
    redis_away()
    pauses = []
    for _ in range(4):
        work_on(unit, run)
        pauses.append((unit.wait_until - timezone.now()).total_seconds())
    # 1, 2, 4, 8 s, each less up to a quarter, and less what the test took
    assert pauses == sorted(pauses)
    assert 4 < pauses[-1] <= 8


def test_an_agent_that_catches_an_outage_and_goes_on_is_not_scored(run, unit, redis_away, monkeypatch):
    def stubborn(task, *, llm, **_):
        try:
            llm.complete([{"role": "user", "content": "hi"}], stage="act")
        except LLMError:
            raise RuntimeError("gave up") from None

    monkeypatch.setitem(AGENTS, "rag", AGENTS["rag"].__class__("rag", stubborn, "RAG"))
    redis_away()
    assert work_on(unit, run).status == "queued"


def test_a_redis_that_forgot_its_messages_gets_them_again_from_one_worker(run, unit):
    redis = redis_server.redis_client()
    memory = redis.info("server")["run_id"]
    redis.delete(f"iba:sent-again:{memory}")
    long_ago = timezone.now() - timedelta(seconds=1)
    Unit.objects.filter(run=run).update(enqueued_at=long_ago)
    for sent in (True, False):
        Unit.objects.filter(run=run).update(enqueued_at=long_ago)
        heart = Heart()
        heart._memory = "of the one before"
        heart.beat()
        unit.refresh_from_db()
        assert (unit.enqueued_at > long_ago) == sent
    redis.zrem("iba:workers", WORKER)


@pytest.mark.django_db(transaction=True)
def test_an_answer_that_was_paid_for_is_held_until_the_database_can_keep_it(monkeypatch):
    monkeypatch.setattr(database, "FIRST_PAUSE_S", 0.01)
    left = [3]

    def refuse(execute, sql, params, many, context):
        if "bench_modelcall" in sql and left[0]:
            left[0] -= 1
            raise OperationalError("the database system is starting up")
        return execute(sql, params, many, context)

    store = calls.DatabaseStore(run_id=None, unit_id=None, endpoint="x")
    with connection.execute_wrapper(refuse), pytest.raises(ServiceAway, match="starting up"):
        store.put("key", {}, StoredCall({}, Usage(1, 1, 1, 0.0), 0.1, "act"))
    assert left == [0]
    assert ModelCall.objects.get().key == "key"


def test_a_statement_that_the_database_refuses_is_no_outage():
    refused = OperationalError("row is too big")
    refused.__cause__ = type("E", (Exception,), {"sqlstate": "54000"})()
    gone = OperationalError("could not extend file: No space left on device")
    gone.__cause__ = type("E", (Exception,), {"sqlstate": "53100"})()
    assert not database.is_away(refused)
    assert database.is_away(gone)


# --- Endpoints


@pytest.fixture
def dead_run(tiny, offline, monkeypatch):
    """A run on an endpoint that refuses connections, which one try finds out."""
    monkeypatch.setattr(transport, "ATTEMPTS", 1)
    registered("dead", url=offline.url)
    for slug, model in zip(REGISTERED, JUDGES, strict=True):
        registered(slug, model=model, url=offline.url)
    made = launch_run(RunSpec(dataset="tiny", methods=["no_history"], model="dead", judges=REGISTERED, limit=5))
    Endpoint.objects.filter(slug="dead").update(base_url=DEAD)
    return made


def test_after_three_failures_in_a_row_an_endpoint_is_left_alone_and_no_unit_has_failed(dead_run):
    units = list(Unit.objects.filter(run=dead_run))
    for number, unit in enumerate(units[:3], 1):
        work_on(unit, dead_run)
        row = row_of("endpoint 'dead'")
        assert (row.failures, row.is_open) == (number, number == 3)
    assert take_for_queue(dead_run.pk) == []
    work_on(units[3], dead_run)  # its message was under way
    assert row_of("endpoint 'dead'").failures == 3  # nobody asked the endpoint
    states = set(Unit.objects.filter(run=dead_run).values_list("status", flat=True))
    dead_run.refresh_from_db()
    assert (states, dead_run.status) == ({"queued"}, "running")
    assert "connection failed" in progress_of(dead_run).waiting[0].reason


def test_an_endpoint_that_answers_a_probe_gets_its_units_back(dead_run, offline):
    for unit in list(Unit.objects.filter(run=dead_run))[:3]:
        work_on(unit, dead_run)
    probe_now("endpoint 'dead'")
    assert row_of("endpoint 'dead'").probes == 1
    Endpoint.objects.filter(slug="dead").update(base_url=offline.url)
    probe_now("endpoint 'dead'")
    assert row_of("endpoint 'dead'") is None
    assert set(Unit.objects.filter(run=dead_run).values_list("wait_until", flat=True)) == {None}
    assert ModelCall.objects.get(stage="probe").endpoint == "dead"  # in the books,
    assert Run.objects.get(pk=dead_run.pk).spent_usd == 0  # on no run's bill


def test_a_success_in_between_keeps_the_breaker_closed(dead_run):
    for _ in range(2):
        outages.note(EndpointAway("dead", "down"))
    outages.answered("dead")
    assert not outages.note(EndpointAway("dead", "down"))
    assert row_of("endpoint 'dead'").failures == 1


def test_a_unit_that_fails_where_others_are_answered_fails_after_its_attempts(dead_run):
    unit = Unit.objects.filter(run=dead_run).first()
    for attempt in range(1, MAX_ATTEMPTS + 1):
        assert unit.status == "queued"
        work_on(unit, dead_run)
        outages.answered("dead")  # to somebody else
        assert unit.attempts == attempt
    assert unit.status == "failed"
    assert "connection failed" in unit.error


def test_waiting_for_a_place_at_a_busy_endpoint_counts_for_nobody(dead_run):
    unit = Unit.objects.filter(run=dead_run).first()
    Unit.objects.filter(pk=unit.pk).update(status="running", claimed_by=WORKER, attempts=1)
    tasks.wait_for(unit.pk, EndpointBusy("dead", "no free slot"))
    unit.refresh_from_db()
    assert (unit.status, unit.attempts, unit.waits) == ("queued", 0, 1)
    assert row_of("endpoint 'dead'") is None


def test_a_judge_whose_endpoint_is_away_keeps_the_text_waiting_and_gives_no_verdict(run, text_unit, monkeypatch):
    monkeypatch.setattr(transport, "ATTEMPTS", 1)
    registered("judge-away")
    run.manifest["policy"] |= {"panel": ["offline-judge-a", "judge-away"]}
    run.save()
    act(text_unit.pk, "here")
    work_on(text_unit, run, tasks.judge_unit)
    assert (text_unit.status, text_unit.waits_for) == ("acted", "endpoint 'judge-away'")
    assert set(Verdict.objects.filter(source="judge").values_list("name", flat=True)) == {"offline-judge-a"}
    outages.note(EndpointAway("judge-away", "down"))
    outages.note(EndpointAway("judge-away", "down"))
    # agents of the same run go on, its judging waits
    Unit.objects.filter(run=run).update(enqueued_at=None, wait_until=None)
    assert {status for _, status in take_for_queue(run.pk)} == {"queued"}


def test_a_key_that_is_not_set_where_the_worker_runs_makes_units_wait(run, unit):
    registered("keyless", key_env="NO_SUCH_KEY_IS_SET")
    Run.objects.filter(pk=run.pk).update(model="keyless")
    work_on(unit, run)
    assert (unit.status, unit.waits_for) == ("queued", "endpoint 'keyless'")
    assert "$NO_SUCH_KEY_IS_SET, which is not set" in row_of("endpoint 'keyless'").reason


def test_a_reader_that_was_stopped_makes_units_wait(run, unit, monkeypatch):
    monkeypatch.setenv("OFFLINE_URL", "")
    monkeypatch.setattr("iba_site.services.offline_url", lambda: "")
    work_on(unit, run)
    assert (unit.status, unit.waits_for) == ("queued", "endpoint 'offline'")


def test_one_worker_probes_at_a_time_and_the_pause_grows(dead_run):
    for _ in range(3):
        outages.note(EndpointAway("dead", "down"))
    OutageRow.objects.update(probe_at=timezone.now())
    assert outages.take_due() is not None
    assert outages.take_due() is None
    # 2 s, then 4, 8, ... to a minute, each less up to a fifth
    OutageRow.objects.update(probe_at=timezone.now(), probes=9)
    outages.take_due()
    assert 47 < (row_of("endpoint 'dead'").probe_at - timezone.now()).total_seconds() <= 60


def test_a_run_waits_for_nothing_that_it_does_not_need(run):
    for _ in range(3):
        outages.note(EndpointAway("somebody-elses", "down"))
    assert outages.waiting_for(run) == []
    assert [one.away for one in outages.waiting_now()] == ["endpoint 'somebody-elses'"]
