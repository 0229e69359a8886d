"""Commands from the outside: one clear line for bad input, nothing half done, JSON as other programs expect it."""

from __future__ import annotations

import contextlib
import io
import json
import os
import shutil
import subprocess
import sys
import threading
from functools import partial
from http.server import BaseHTTPRequestHandler, HTTPServer

import pytest
from django.apps import apps
from django.core.management import CommandError, call_command
from django.db import OperationalError
from psycopg.errors import DiskFull

from bench.catalogue import load_catalogue
from bench.catalogue.load import DATA
from bench.management.base import JsonCommand
from bench.management.table import sweep_table
from bench.models import Dataset, Domain, Endpoint, ModelCall, Run, Trajectory, Unit, Verdict
from bench.runs.worker import workers_alive
from tests.annotation.factories import make_run
from tests.bench.live import ROOT, database_url, wait_for

RUN = ("--methods", "iba", "--model", "offline")


def rows():
    """How many rows each table has."""
    models = [*apps.get_app_config("bench").get_models(), *apps.get_app_config("annotation").get_models()]
    return {model.__name__: model.objects.count() for model in models}


def refused(*command):
    """The message of a command that must fail and leave every table as it was."""
    before = rows()
    with pytest.raises(CommandError) as caught:
        call_command(*command, stdout=io.StringIO(), stderr=io.StringIO())
    assert rows() == before
    return str(caught.value)


def json_of(*command):
    out = io.StringIO()
    call_command(*command, "--json", "-", stdout=out, stderr=io.StringIO())
    return json.loads(out.getvalue())


@contextlib.contextmanager
def server_that_answers(status):
    """A model server that answers everything with ``status``."""

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self):
            self.send_response(status)
            self.send_header("Content-Length", "0")
            self.end_headers()

        do_POST = do_GET

        def log_message(self, *_):
            pass

    with HTTPServer(("127.0.0.1", 0), Handler) as server:
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.05}, daemon=True)
        thread.start()
        yield f"http://127.0.0.1:{server.server_port}/v1"
        server.shutdown()
        thread.join()


class Full(JsonCommand):
    def run(self, **options):
        raise OperationalError("could not extend file: No space left on device") from DiskFull()


class Away(JsonCommand):
    def run(self, **options):
        raise OperationalError("connection refused")


@pytest.mark.parametrize(
    ("command", "says"),
    [
        (Full, "the database's disk is full; free some of it, and try again: could not extend file"),
        (Away, "the database does not answer; start it with `make serve`: connection refused"),
    ],
)
def test_a_command_without_its_database_names_the_remedy_that_fits(command, says):
    with pytest.raises(CommandError) as refused:
        command().handle(json=None)
    assert str(refused.value).startswith(says)


@pytest.fixture
def small(db):
    return make_run(personas=2).dataset


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (("--dataset", "nowhere", *RUN), "unknown dataset 'nowhere'"),
        (("--dataset", "demo", "--methods", "ibx", "--model", "offline"), "unknown method 'ibx'; allowed are"),
        (("--dataset", "demo", "--methods", "iba", "--model", "gpt-0"), "Register one with `manage.py add_endpoint`"),
        (("--dataset", "demo", *RUN, "--domains", "gardening"), "unknown domain 'gardening'"),
        (("--dataset", "demo", *RUN, "--preset", "all"), "unknown preset 'all'; there are: paper_table"),
        (("--dataset", "demo", *RUN, "--limit", "0"), "limit is 0"),
        (("--dataset", "demo", *RUN, "--budget-usd", "-1"), "it must be above 0"),
        (("--dataset", "demo", *RUN, "--json", "/no/such/folder/x.json"), "there is no folder /no/such/folder"),
    ],
)
def test_a_benchmark_that_cannot_be_run_as_asked_is_refused_in_one_line(small, offline, arguments, says):
    Dataset.objects.filter(pk=small.pk).update(name="demo")
    message = refused("run_benchmark", *arguments)
    assert says in message
    assert "\n" not in message


def test_a_noise_sweep_needs_a_dataset_whose_noise_can_be_changed(small, offline):
    Dataset.objects.filter(pk=small.pk).update(source="jsonl")
    before = Run.objects.count(), Dataset.objects.count()
    message = refused("run_benchmark", "--dataset", small.name, "--preset", "noise_sweep", "--model", "offline")
    assert "is jsonl by" in message
    assert "`build_dataset --author procedural` made it" in message
    assert (Run.objects.count(), Dataset.objects.count()) == before


def test_the_table_of_a_sweep_has_a_line_a_method_and_share_of_noise_with_intervals():
    counts = {"method": "iba", "planned": 4, "evaluated": 4, "by_action": {}}
    share, nothing = {"mean": 0.5, "low": 0.2, "high": 0.8}, {"mean": None, "low": None, "high": None, "n": 0}
    cells = [{**counts, "preference_satisfaction": {**share, "n": 4}, "recall": {**share, "n": 3}}]
    missing = [{**counts, "preference_satisfaction": nothing, "recall": nothing}]
    runs = [
        {"noise": 0.0, "simulated": True, "cells": cells},
        {"noise": 0.7, "simulated": True, "cells": missing},
    ]
    lines = sweep_table(runs).splitlines()
    assert "SIMULATED" in lines[1]
    assert [line.split() for line in lines[5:7]] == [
        ["iba", "0%", "0.50", "(0.20–0.80)", "0.50", "(0.20–0.80)", "n", "3", "4/4"],
        ["iba", "70%", "–", "–", "4/4"],
    ]


def grader(url):
    """A registered judge: simulated ones grade simulated runs only."""
    return Endpoint.objects.create(slug="grader", base_url=url, model="offline-judge-a", family="g").slug


def test_a_server_that_does_not_answer_is_found_before_anything_is_started(small, offline):
    Endpoint.objects.create(slug="down", base_url="http://127.0.0.1:9/v1", model="m", family="f")
    asked = ("--methods", "iba", "--model", "down", "--judges", grader(offline.url))
    message = refused("run_benchmark", "--dataset", small.name, *asked)
    assert message.startswith("endpoint 'down' (http://127.0.0.1:9/v1) cannot be reached: ")
    assert "Start the server, or correct the address with `manage.py add_endpoint`." in message


@pytest.mark.parametrize("status", [401, 403])
def test_a_wrong_key_is_found_before_anything_is_started_and_never_shown(small, offline, monkeypatch, status):
    monkeypatch.setenv("WRONG_KEY", "sk-not-the-one")
    with server_that_answers(status) as url:
        Endpoint.objects.create(slug="locked", base_url=url, model="m", family="f", key_env="WRONG_KEY")
        asked = ("--methods", "iba", "--model", "locked", "--judges", grader(offline.url))
        message = refused("run_benchmark", "--dataset", small.name, *asked)
    assert f"refuses the key with status {status}. Set the right one" in message
    assert "sk-not" not in message


def test_a_judge_that_does_not_answer_is_found_as_well(small, offline):
    Endpoint.objects.create(slug="down", base_url="http://127.0.0.1:9/v1", model="m", family="f")
    assert "endpoint 'down'" in refused("run_benchmark", "--dataset", small.name, *RUN, "--judges", "down")


def test_a_real_model_without_judges_is_refused_with_the_option_to_use(small, offline):
    Endpoint.objects.create(slug="real", base_url="http://127.0.0.1:9/v1", model="m", family="f")
    message = refused("run_benchmark", "--dataset", small.name, "--methods", "iba", "--model", "real")
    assert "--judges a,b,c" in message


@pytest.mark.parametrize(
    ("command", "says"),
    [
        (("build_dataset", "--name", "x", "--size", "huge"), "size 'huge' is not known; use tiny, starter, full"),
        (("build_dataset", "--name", "x", "--size", "tiny", "--noise", "1"), "noise 1.0 is outside 0 to 0.9"),
        (("build_dataset", "--name", "x", "--size", "tiny", "--author", "poet"), "poet"),
        (("build_dataset", "--name", "not a name!", "--size", "tiny"), "not a name!"),
        (("check_dataset", "--dataset", "nowhere"), "unknown dataset 'nowhere'; make it with build_dataset"),
        (("embed_events", "--dataset", "nowhere"), "unknown dataset 'nowhere'"),
        (("agreement", "--run", "987654321"), "there is no run 987654321"),
        (("rejudge", "--run", "987654321"), "unknown run 987654321"),
        (("eval_retrieval", "--source", "locomo"), "--path is missing"),
        (("eval_retrieval", "--source", "dataset", "--dataset", "nowhere"), "unknown dataset 'nowhere'"),
        (("eval_retrieval", "--source", "dataset", "--engines", "magic"), "unknown engine 'magic'; allowed: bm25"),
        (("add_endpoint", "offline", "--base-url", "http://x/v1", "--model", "m", "--family", "f"), "reader's own"),
        (("add_endpoint", "x", "--base-url", "ftp://x/v1", "--model", "m", "--family", "f"), "must be http(s)://"),
        (("add_endpoint", "a slug!", "--base-url", "http://x/v1", "--model", "m", "--family", "f"), "slug"),
        (("add_endpoint", "x", "--base-url", "http://x/v1", "--model", "m" * 200, "--family", "f"), "model"),
    ],
)
def test_other_commands_refuse_in_words_and_write_nothing(db, offline, command, says):
    assert says in refused(*command)


@pytest.fixture
def broken_catalogue(tmp_path, monkeypatch):
    """A copy of the catalogue with one malformed file, in the place of the real one."""
    root = tmp_path / "data"
    shutil.copytree(DATA, root)
    victim = sorted(root.glob("dining/dimensions/*.yaml"))[0]
    victim.write_text(victim.read_text() + "\n  - slug: [unclosed\n")
    for command in ("load_catalogue", "build_dataset"):
        monkeypatch.setattr(f"bench.management.commands.{command}.load_catalogue", partial(load_catalogue, root))
    return f"{victim.parent.name}/{victim.name}"


@pytest.mark.parametrize("command", [("load_catalogue",), ("build_dataset", "--name", "x", "--size", "tiny")])
def test_a_malformed_data_file_is_named_and_leaves_the_tables_alone(db, broken_catalogue, command):
    message = refused(*command)
    assert broken_catalogue in message


def test_the_catalogue_reports_its_counts_and_loading_twice_changes_nothing(db):
    first = json_of("load_catalogue")
    assert set(first) >= {"domains", "scenarios", "dimensions", "api_scenarios", "data_version"}
    assert (first["domains"], Domain.objects.count()) == (9, 9)
    before = rows()
    assert json_of("load_catalogue") == first
    assert rows() == before


def test_a_dataset_reports_its_counts_and_the_same_arguments_make_it_once(tiny):
    before = rows()
    found = json_of("build_dataset", "--name", "tiny", "--size", "tiny", "--seed", "7")
    assert rows() == before
    assert set(found) >= {
        "name", "version", "sha256", "personas", "events", "tasks", "api_tasks", "checkpoints",
        "constraints_per_task", "evidence_per_task", "conflicts",
    }  # fmt: skip
    assert (found["sha256"], found["personas"], found["tasks"]) == (tiny.sha256, 3, 12)


def test_retrieval_and_gates_report_in_the_agreed_shape(tiny, tmp_path):
    found = json_of("eval_retrieval", "--source", "dataset", "--dataset", "tiny", "--engines", "bm25,hybrid")
    assert set(found) >= {"source", "questions", "units", "skipped", "engines"}
    assert list(found["engines"]) == ["bm25", "hybrid"]
    for row in found["engines"].values():
        assert set(row) >= {"recall", "any_hit", "all_hit", "mrr", "ms_p50", "ms_p95"}
        assert all(set(row[name]) == {"5", "10", "20", "50"} for name in ("recall", "any_hit", "all_hit"))
        values = [row["recall"][k] for k in ("5", "10", "20", "50")]
        assert values == sorted(values)
    path = tmp_path / "gates.json"
    with contextlib.suppress(CommandError):  # a tiny dataset need not hold them all
        call_command("check_dataset", "--dataset", "tiny", "--json", str(path), stdout=io.StringIO())
    gates = json.loads(path.read_text())
    assert gates["passed"] == all(gate["passed"] for gate in gates["gates"])
    assert all(set(gate) >= {"name", "value", "limit", "passed"} for gate in gates["gates"])
    keys = {"name", "value", "limit", "n", "low", "high", "offenders", "offenders_total", "split", "verdict"}
    assert len(gates["shortcuts"]) == 27
    assert all(set(row) >= keys and len(row["offenders"]) <= 10 for row in gates["shortcuts"])


@pytest.mark.django_db(transaction=True)
def test_a_benchmark_reports_cells_and_pairs_and_judging_anew_never_calls_the_agent(tiny, offline, worker, monkeypatch):
    monkeypatch.setenv("DATABASE_URL", database_url())  # else the command may start a worker on the home's own database
    wait_for("the worker answers", workers_alive)
    command = ("run_benchmark", "--dataset", "tiny", "--methods", "rag,recency", "--model", "offline", "--limit", "2")
    found = json_of(*command)
    assert set(found) >= {"run_id", "simulated", "dataset", "manifest_sha256", "cells", "paired", "wall_s"}
    assert set(found["dataset"]) == {"name", "version", "sha256"}
    for cell in found["cells"]:
        assert set(cell) >= {
            "method", "model", "ablation", "planned", "evaluated", "errors", "unscored", "behaviour_accuracy",
            "preference_satisfaction", "task_success", "by_domain", "evidence_recall", "llm_calls", "tokens_in",
            "tokens_out", "cost_usd", "wall_s",
        }  # fmt: skip
        assert set(cell["task_success"]) >= {"mean", "low", "high", "n"}
    pair = {"a", "b", "metric", "difference", "low", "high", "n", "distinguishable"}
    assert all(set(found_pair) >= pair for found_pair in found["paired"])

    again = json_of(*command, "--reuse")
    assert again["run_id"] == found["run_id"]
    assert again["cells"] == found["cells"]

    trajectories = list(Trajectory.objects.order_by("pk").values())
    agents_calls = [e for e in offline.exchanges if '"model": "offline"' in e.body]
    counts = json_of("rejudge", "--run", str(found["run_id"]))
    texts = Unit.objects.filter(run=found["run_id"], task__scenario__action_kind="generate").count()
    assert counts["trajectories"] == texts
    assert list(Trajectory.objects.order_by("pk").values()) == trajectories
    assert [e for e in offline.exchanges if '"model": "offline"' in e.body] == agents_calls

    agreement = json_of("agreement", "--run", str(found["run_id"]))
    assert set(agreement) >= {"pairs", "effective_votes"}
    assert all(
        set(pair) >= {"a", "b", "kind", "n", "raw", "ac1", "alpha", "kappa", "low", "high", "prevalence"}
        for pair in agreement["pairs"]
    )
    assert Verdict.objects.exists()


MEASURES = ("behaviour_accuracy", "preference_satisfaction", "task_success", "evidence_recall", "settled", "by_domain")


@pytest.mark.django_db(transaction=True)
def test_two_runs_that_ask_the_model_anew_have_the_same_measures_to_the_byte(tiny, offline, worker, monkeypatch):
    monkeypatch.setenv("DATABASE_URL", database_url())
    wait_for("the worker answers", workers_alive)
    command = ("run_benchmark", "--dataset", "tiny", "--methods", "iba,rag", "--model", "offline", "--limit", "2")
    measured = []
    for _ in range(2):
        found = json_of(*command)
        cells = [{name: cell[name] for name in ("method", *MEASURES)} for cell in found["cells"]]
        measured.append(json.dumps([cells, found["paired"]]))
        ModelCall.objects.all().delete()  # else the second run replays what the first one bought
    assert measured[0] == measured[1]
    assert '"task_success": {"mean": ' in measured[0]


def test_a_program_that_calls_us_gets_exit_code_1_and_one_line(db):
    """In a process of its own, on the real command line."""
    environment = {**os.environ, "DATABASE_URL": database_url(), "SECRET_KEY": "only for this test" * 4}
    command = [sys.executable, "manage.py", "run_benchmark", "--dataset", "nowhere", *RUN, "--json", "-"]
    done = subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True, timeout=200)
    assert done.returncode == 1
    assert done.stdout == ""
    assert [line.startswith("CommandError: unknown dataset 'nowhere'") for line in done.stderr.splitlines()] == [True]


def test_tables_that_are_missing_are_named_with_the_command_that_makes_them(db, monkeypatch):
    from django.db import ProgrammingError

    def no_table(**_):
        raise ProgrammingError('relation "bench_run" does not exist\nLINE 1: SELECT ...')

    monkeypatch.setattr(Run.objects, "filter", no_table)
    with pytest.raises(CommandError, match=r'run `manage.py migrate`: relation "bench_run" does not exist$'):
        call_command("agreement", "--run", "1")
