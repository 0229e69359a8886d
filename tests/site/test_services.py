"""Embedded services in homes of their own: start, stop, kill, and every message that a user may need."""

from __future__ import annotations

import json
import os
import signal
import socket
import subprocess
import sys
import time
from pathlib import Path

import psutil
import psycopg
import pytest
import redis

from iba_site.services import process
from iba_site.services.postgres import check_version

ROOT = Path(__file__).resolve().parent.parent.parent


class Home:
    """One IBA_HOME, used as a user does: by command."""

    def __init__(self, path):
        self.path = path

    def do(self, *arguments, **environment):
        cut = {"DATABASE_URL", "REDIS_URL", "EMBEDDINGS_URL", "OFFLINE_URL", "XDG_RUNTIME_DIR"}
        kept = {name: value for name, value in os.environ.items() if name not in cut}
        return subprocess.run(
            [sys.executable, "-m", "iba_site.services", *arguments],
            cwd=ROOT,
            env={**kept, "IBA_HOME": str(self.path), **environment},
            capture_output=True,
            text=True,
            timeout=200,
        )

    def start(self, *names, **environment):
        done = self.do("start", *names, **environment)
        assert done.returncode == 0, done.stderr
        return self

    def record(self, name):
        return process.read(self.path / "run", name)


@pytest.fixture
def new_home(tmp_path_factory):
    homes = []

    def make():
        homes.append(Home(tmp_path_factory.mktemp("home")))
        return homes[-1]

    yield make
    for home in homes:
        home.do("stop")


@pytest.fixture
def home(new_home):
    return new_home()


def gone(pid, seconds=30):
    deadline = time.monotonic() + seconds
    while psutil.pid_exists(pid) and psutil.Process(pid).status() != psutil.STATUS_ZOMBIE:
        assert time.monotonic() < deadline, f"process {pid} lives on"
        time.sleep(0.02)
    return True


def kill_9(record):
    os.kill(record.pid, signal.SIGKILL)
    assert gone(record.pid)


def ping(url):
    client = redis.Redis.from_url(url)
    try:
        return client.ping()
    finally:
        client.close()


def test_redis_starts_once_answers_only_with_its_password_and_stops(home):
    home.start("redis")
    record = home.record("redis")
    assert ping(record.url)
    port = record.url.rpartition(":")[2].partition("/")[0]
    with pytest.raises(redis.AuthenticationError):
        ping(f"redis://127.0.0.1:{port}/0")
    assert home.start("redis").record("redis") == record  # a second start finds it
    assert (home.path / "run" / "redis.json").stat().st_mode & 0o077 == 0  # its password is nobody else's
    assert (home.path / "redis" / "redis.conf").stat().st_mode & 0o077 == 0
    assert "stopped redis" in home.do("stop").stderr
    assert gone(record.pid)
    assert home.record("redis") is None


def test_a_killed_redis_is_replaced_at_the_same_address_so_that_workers_find_it(home):
    before = home.start("redis").record("redis")
    kill_9(before)
    assert "redis       not running" in home.do("status").stderr
    after = home.start("redis").record("redis")
    assert after.pid != before.pid
    assert after.url == before.url
    assert ping(after.url)


def test_a_record_whose_pid_belongs_to_another_program_by_now_is_stale(home):
    home.start("redis")
    record = home.record("redis")
    home.do("stop")
    mine = psutil.Process()
    process.write(home.path / "run", process.Record("redis", mine.pid, process.started_at(mine) - 3600, record.url))
    assert process.running(home.path / "run", "redis") is None
    assert home.do("stop").returncode == 0  # and the other program is left alone
    assert mine.is_running()


@pytest.mark.skipif(not os.path.exists("/proc/self/stat"), reason="only /proc tells a start by a clock that is not set")
def test_a_clock_that_is_set_makes_no_running_service_look_dead(home, monkeypatch):
    home.start("redis")
    by_the_day = psutil.Process.create_time
    monkeypatch.setattr(psutil.Process, "create_time", lambda self: by_the_day(self) + 20)
    found = process.running(home.path / "run", "redis")
    assert found is not None
    assert found.pid == home.record("redis").pid


@pytest.mark.parametrize("text", ["", "{", "[]", '{"pid": 1}'])
def test_a_damaged_record_counts_as_none(home, text):
    folder = home.path / "run"
    folder.mkdir()
    (folder / "redis.json").write_text(text)
    assert process.read(folder, "redis") is None


def test_two_homes_side_by_side_do_not_touch_each_other(new_home):
    first, second = new_home().start("redis"), new_home().start("redis")
    urls = first.record("redis").url, second.record("redis").url
    assert urls[0] != urls[1]
    first.do("stop")
    assert ping(urls[1])


def test_a_taken_port_is_named_with_what_to_do(home):
    with socket.socket() as other:
        other.bind(("127.0.0.1", 0))
        other.listen()
        port = other.getsockname()[1]
        done = home.do("start", "web", PORT=str(port))
    assert done.returncode == 1
    assert f"error: port {port} is taken by another program. Choose another with PORT=" in done.stderr
    assert "Traceback" not in done.stderr


@pytest.mark.parametrize(("port", "says"), [("http", "PORT='http' is not a whole number"), ("70000", "PORT=70000")])
def test_a_port_that_is_none_is_refused_in_one_line(home, port, says):
    done = home.do("start", "web", PORT=port)
    assert done.returncode == 1
    assert done.stderr.startswith(f"error: {says}")
    assert "Traceback" not in done.stderr


def test_a_service_that_does_not_exist_is_refused_with_those_that_do(home):
    done = home.do("start", "mongodb")
    assert done.returncode == 1
    assert "unknown service 'mongodb'; there are: postgres, redis" in done.stderr
    assert home.do("stop", "mongodb").returncode == 1


def test_no_verb_explains_the_usage(home):
    done = home.do()
    assert (done.returncode, done.stderr.split(":")[0]) == (2, "usage")


def test_a_database_of_another_version_is_left_alone_and_the_message_says_what_to_do(home):
    data = home.path / "postgres"
    data.mkdir()
    (data / "PG_VERSION").write_text("12\n")
    done = home.do("start", "postgres")
    assert done.returncode == 1
    assert "holds a database of PostgreSQL 12, but this copy brings PostgreSQL" in done.stderr
    assert f"mv {data} {data}.old" in done.stderr
    assert "DATABASE_URL" in done.stderr
    assert [path.name for path in data.iterdir()] == ["PG_VERSION"]


def test_an_empty_data_folder_is_no_other_version(tmp_path):
    check_version(tmp_path, Path("/no/such/server"))


def test_a_killed_postgres_comes_back_with_its_data_and_a_deep_home_is_no_hindrance(new_home, tmp_path):
    deep = tmp_path / ("a-folder-with-a-long-name-" * 4) / ("and-another-one-" * 4)
    deep.mkdir(parents=True)
    home = Home(deep)
    try:
        first = home.start("postgres").record("postgres")
        with psycopg.connect(first.url, autocommit=True) as connection:
            connection.execute("CREATE TABLE kept (word text)")
            connection.execute("INSERT INTO kept VALUES ('still here')")
        family = psutil.Process(first.pid).children(recursive=True)
        kill_9(first)
        psutil.wait_procs(family, timeout=30)
        second = home.start("postgres").record("postgres")
        assert second.pid != first.pid
        with psycopg.connect(second.url) as connection:
            assert connection.execute("SELECT word FROM kept").fetchone() == ("still here",)
    finally:
        home.do("stop")
    assert gone(second.pid)


def test_a_named_server_is_used_and_none_of_its_kind_is_started(home):
    home.start("redis", REDIS_URL="redis://queue.example:6379/0")
    assert home.record("redis") is None


def test_a_service_that_dies_at_its_start_shows_the_end_of_its_log(home, tmp_path):
    run_dir = home.path / "run"
    run_dir.mkdir()
    record = process.spawn(run_dir, "sick", [sys.executable, "-c", "raise SystemExit('no disk left')"], url="")
    with pytest.raises(process.ServiceError, match=r"sick did not start. The end of log/sick.log says:\nno disk left"):
        process.wait_until(lambda: False, record, run_dir)
    assert not (run_dir / "sick.json").exists()


def test_records_are_replaced_whole(tmp_path):
    record = process.Record("x", 1, 2.0, "url")
    process.write(tmp_path, record)
    process.write(tmp_path, record)
    assert json.loads((tmp_path / "x.json").read_text())["pid"] == 1
    assert [path.name for path in tmp_path.iterdir()] == ["x.json"]
