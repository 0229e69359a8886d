"""The suites: harness (runs and scoring), search, ingest, pages; flight and raters are in files of their own."""

from __future__ import annotations

import contextlib
import resource
from collections.abc import Callable, Iterator
from datetime import UTC, datetime, timedelta
from functools import partial

import numpy as np
from django.conf import settings
from django.contrib.auth.models import Group, User
from django.db import connection, transaction
from django.db.models import F
from django.test import Client

from agents.contract import Engine
from bench.catalogue import Catalogue, load_catalogue
from bench.catalogue.store import store_catalogue
from bench.generation.build import Recipe, generate, write_dataset
from bench.grading.store import score_trajectories
from bench.models import CheckpointScore, Dataset, Event, EventVector, Persona, Run, RunStatus, ScoreChanges
from bench.perf.flight import flight
from bench.perf.measure import Row, percentile_ms, reference_s, seconds
from bench.perf.raters import raters
from bench.perf.scale import analyze, large_run
from bench.results.agreement_report import measure_agreement
from bench.results.report import compute
from bench.search.engines import HistorySearch
from bench.search.vectors import embed_texts
from bench.services import services
from bench.texts import text_sha256

Say = Callable[[str], None]
BIG_TABLE = 1_000_000
BIG_PERSONA = 5_000
WIDTH = 384


class _RollBack(Exception):
    """Leaves a measured transaction without a trace."""


def harness(say: Say) -> Iterator[Row]:
    """10,000 trajectories x 6 checkpoints x 5 sources: scoring anew, what runs keep, and the pages on it.

    A cold page is the first one after a verdict: it computes the numbers and keeps them. A warm page reads them.
    """
    reference = reference_s()
    try:
        with transaction.atomic():
            say("writing 10,000 trajectories and 300,000 verdicts; this takes minutes")
            run = large_run()
            ids = list(run.units.values_list("trajectory__pk", flat=True))
            for name in ("for the first time", "anew, every score changed", "anew, no score changed"):
                if "every" in name:
                    CheckpointScore.objects.filter(trajectory__unit__run=run).update(reason="another")
                yield Row(f"score 10,000 trajectories {name}", seconds(lambda: score_trajectories(ids)), "s", reference)
                analyze()
            yield Row("results of 10,000 trajectories", seconds(lambda: compute(run)), "s", reference)
            yield Row("agreement of 10,000 trajectories", seconds(lambda: measure_agreement(run)), "s", reference)
            client = _admin()
            domain = run.dataset.personas.values_list("tasks__scenario__domain__slug", flat=True).first()
            for address in (
                f"/compare/?run={run.pk}", f"/runs/{run.pk}/", f"/runs/{run.pk}/?view=ai", f"/agreement/?run={run.pk}",
                f"/?simulated=1&run={run.pk}", f"/?simulated=1&run={run.pk}&split=test",
                f"/domains/{domain}/?simulated=1&run={run.pk}",
            ):  # fmt: skip
                name = address.replace(str(run.pk), "ID")
                _get(client, address)  # draws the charts and loads the code, as in any process that served a page
                forget(run)
                yield Row(f"GET {name}, cold", seconds(partial(_get, client, address)) * 1000, "ms", reference * 1000)
                warm = percentile_ms(partial(_get, client, address), 20)
                yield Row(f"GET {name}, warm, p95", warm, "ms", reference * 1000)
            raise _RollBack
    except _RollBack:
        say("rolled back")


def forget(run: Run) -> None:
    """What is kept of the run counts no more, as after a verdict."""
    ScoreChanges.objects.filter(run=run).update(n=F("n") + 1)


def _admin() -> Client:
    user = User.objects.create_user("perf-admin")
    user.groups.set([Group.objects.get(name="admin")])
    client = Client(headers={"host": "localhost"})
    client.force_login(user)
    return client


def _get(client: Client, address: str) -> None:
    answer = client.get(address)
    if answer.status_code != 200:
        raise ValueError(f"GET {address} answered {answer.status_code}; only a page that works is worth timing")


def search(say: Say) -> Iterator[Row]:
    """One persona of 5,000 events in a table of 1,000,000, in a transaction that is rolled back."""
    services().ensure("embeddings")
    reference = reference_s()
    try:
        with transaction.atomic():
            say(f"writing {BIG_TABLE} vectors; this takes minutes")
            persona = _big_table()
            queries = [f"question {n} about the {word}" for n, word in enumerate(("train", "dinner", "doctor") * 20)]
            embed_texts(queries, kind="query")
            turn = iter(queries * 100)
            for engine in (Engine.BM25, Engine.DENSE, Engine.HYBRID, Engine.DEEP):
                find = partial(_next_search, persona.pk, turn, engine)
                p95 = percentile_ms(find, 200)
                yield Row(f"{engine.value} search, p95", p95, "ms", reference * 1000)
            raise _RollBack
    except _RollBack:
        say("rolled back")


def _next_search(persona_id: int, turn: Iterator[str], engine: Engine) -> None:
    HistorySearch(persona_id, None)(next(turn), k=20, engine=engine)


def _big_table() -> Persona:
    """Random unit vectors by SQL; the persona's own texts are real words."""
    dataset = Dataset.objects.create(
        name="perf", version=1, sha256="0" * 64, seed=0, size="0", noise=0, author="perf", data_version="perf"
    )
    persona = Persona.objects.create(dataset=dataset, slug="big", name="big", split="test")
    crowd = Persona.objects.create(dataset=dataset, slug="crowd", name="crowd", split="test")
    rng = np.random.default_rng(1)
    words = rng.choice([f"word{n}" for n in range(3000)], size=(BIG_PERSONA, 18))
    start = datetime(2025, 1, 1, tzinfo=UTC)
    texts = [" ".join(row) for row in words]
    events = Event.objects.bulk_create(
        (
            Event(
                persona=persona,
                position=n,
                occurred_at=start + timedelta(hours=n),
                channel="note",
                text=t,
                text_sha256=text_sha256(t),
            )
            for n, t in enumerate(texts)
        ),
        batch_size=1000,
    )
    vectors = rng.normal(size=(BIG_PERSONA, WIDTH)).astype(np.float32)
    EventVector.objects.bulk_create(
        (
            EventVector(event=event, persona=persona, model=settings.EMBEDDINGS_MODEL, vector=vector)
            for event, vector in zip(events, vectors, strict=True)
        ),
        batch_size=500,
    )
    with connection.cursor() as cursor:
        cursor.execute(
            """
            INSERT INTO bench_event (persona_id, position, occurred_at, channel, session, text, text_sha256)
            SELECT %s, n, now(), 'note', '', 'nothing', '' FROM generate_series(0, %s) AS n
            """,
            [crowd.pk, BIG_TABLE - BIG_PERSONA - 1],
        )
        cursor.execute(
            """
            INSERT INTO bench_eventvector (event_id, persona_id, model, vector)
            SELECT e.id, e.persona_id, %s, v.vector FROM bench_event e
            JOIN LATERAL (
                SELECT vector FROM bench_eventvector WHERE persona_id = %s OFFSET e.position %% 50 LIMIT 1
            ) v ON true
            WHERE e.persona_id = %s
            """,
            [settings.EMBEDDINGS_MODEL, persona.pk, crowd.pk],
        )
        cursor.execute("ANALYZE bench_eventvector")
    return persona


def ingest(say: Say) -> Iterator[Row]:
    """From the catalogue to histories and tasks, and from texts to vectors."""
    services().ensure("embeddings")
    reference = reference_s()
    catalogue = load_catalogue()
    yield Row("load the catalogue", seconds(load_catalogue) * 1000, "ms", reference * 1000)
    yield Row(
        "generate the starter dataset", seconds(lambda: generate(catalogue, Recipe("perf", "starter"))), "s", reference
    )
    for size, name in (("100", "100 personas"), ("full", "full, 400 personas")):
        build = partial(_build, catalogue, Recipe("perf", size))
        yield Row(f"generate and write {name}, without vectors", seconds(build), "s", reference)
        yield Row(f"memory of the process after {name}", _peak_mb(), "MB", 1500)
    texts = [f"{n} people asked about the number {n * 7} bus this morning" for n in range(128)]
    took = seconds(
        lambda: embed_texts([f"{datetime.now(tz=UTC).timestamp()} {text}" for text in texts], kind="passage")
    )
    yield Row("embed one text", took / len(texts) * 1000, "ms", reference * 1000)


def _build(catalogue: Catalogue, recipe: Recipe) -> None:
    with contextlib.suppress(_RollBack), transaction.atomic():
        store_catalogue(catalogue)
        write_dataset(recipe, catalogue, generate(catalogue, recipe))
        raise _RollBack


def _peak_mb() -> float:
    """The most that this process has held so far."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


def pages(say: Say) -> Iterator[Row]:
    """Server time of the pages that people open most, as an administrator."""
    run = Run.objects.filter(status=RunStatus.DONE).order_by("-pk").first()
    if run is None:
        raise ValueError("there is no finished run to look at; `SERVE=0 make demo` makes one")
    trajectory = run.units.filter(trajectory__isnull=False).values_list("trajectory__pk", flat=True).first()
    reference = reference_s()
    try:
        with transaction.atomic():
            client = _admin()
            addresses = ("/", "/runs/", f"/runs/{run.pk}/", f"/compare/?run={run.pk}", f"/trajectories/{trajectory}/")
            for address in addresses:
                find = partial(_get, client, address)
                yield Row(f"GET {address}, p95", percentile_ms(find, 20), "ms", reference * 1000)
            raise _RollBack
    except _RollBack:
        say("done")


SUITES: dict[str, Callable[[Say], Iterator[Row]]] = {
    "harness": harness,
    "search": search,
    "ingest": ingest,
    "pages": pages,
    "flight": flight,
    "raters": raters,
}
