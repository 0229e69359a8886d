"""Starts that were killed, files that are garbled, homes with odd names: the next start works or says what to do."""

from __future__ import annotations

import fcntl
import os
import shutil
import signal
import subprocess
import sys
import time

import psutil
import psycopg
import pytest
from django.contrib.auth import authenticate
from django.contrib.auth.models import User
from django.core.exceptions import ImproperlyConfigured
from django.core.management import call_command
from django.http import HttpRequest

from iba_site import demo, settings, state
from iba_site.services import ServiceError, process
from iba_site.services.faults import advice, explained
from iba_site.services.postgres import is_whole
from tests.site.test_services import ROOT, Home, gone, kill_9


@pytest.fixture
def home(tmp_path_factory):
    made = Home(tmp_path_factory.mktemp("home") / "with a space, and more")
    yield made
    made.do("stop")


def begin(home, *names):
    """A start that goes on in the background."""
    environment = {**os.environ, "IBA_HOME": str(home.path)}
    for name in ("DATABASE_URL", "REDIS_URL"):
        environment.pop(name, None)
    command = [sys.executable, "-m", "iba_site.services", "start", *names]
    return subprocess.Popen(command, cwd=ROOT, env=environment, stderr=subprocess.DEVNULL, start_new_session=True)


def postmasters_of(home):
    data = home.path / "postgres"
    found = []
    for one in psutil.process_iter():
        try:
            if one.name() == "postgres" and one.cwd() == str(data) and "-D" in one.cmdline():
                found.append(one.pid)
        except (psutil.NoSuchProcess, psutil.AccessDenied):
            pass
    return found


def answers(record):
    with psycopg.connect(record.url) as connection:
        return connection.execute("SELECT 1").fetchone() == (1,)


def test_a_start_killed_at_any_moment_is_finished_by_the_next_and_no_server_is_left_without_a_record(home):
    for seen in ("postgres.new/base/1", "postgres/postmaster.pid"):
        starting = begin(home, "postgres")
        deadline = time.monotonic() + 60
        while not (home.path / seen).exists() and starting.poll() is None:
            assert time.monotonic() < deadline, f"never saw {seen}"
            time.sleep(0.005)
        if starting.poll() is None:
            os.killpg(starting.pid, signal.SIGKILL)
        starting.wait()
        record = home.start("postgres").record("postgres")
        assert answers(record), seen
        assert postmasters_of(home) == [record.pid], seen
        home.do("stop")
        assert gone(record.pid)
        shutil.rmtree(home.path)


def test_a_server_killed_a_moment_ago_is_waited_for_and_its_successor_has_its_data(home):
    first = home.start("postgres").record("postgres")
    with psycopg.connect(first.url, autocommit=True) as connection:
        connection.execute("CREATE TABLE kept AS SELECT 'still here' AS word")
    kill_9(first)  # its children live on for a moment
    second = home.start("postgres").record("postgres")
    with psycopg.connect(second.url) as connection:
        assert connection.execute("SELECT word FROM kept").fetchone() == ("still here",)
    # Its record is lost: the next start finds it.
    (home.path / "run" / "postgres.json").unlink()
    assert home.start("postgres").record("postgres").pid == second.pid
    assert postmasters_of(home) == [second.pid]


def test_a_folder_whose_making_was_interrupted_is_told_from_one_that_was_used(tmp_path):
    assert not is_whole(tmp_path / "none")
    for name in ("base/1", "base/4", "global"):
        (tmp_path / name).mkdir(parents=True)
    (tmp_path / "PG_VERSION").write_text("18\n")
    (tmp_path / "global" / "pg_control").touch()
    assert not is_whole(tmp_path)  # the third of its own databases is missing
    (tmp_path / "base" / "5").mkdir()
    assert is_whole(tmp_path)
    shutil.rmtree(tmp_path / "base" / "5")
    (tmp_path / "base" / "16384").mkdir()  # somebody's: never thrown away
    assert is_whole(tmp_path)


@pytest.mark.parametrize("garbled", [b"", b"\0not a port"])
def test_garbled_files_of_redis_are_made_anew_and_it_starts(home, garbled):
    (home.path / "run").mkdir(parents=True)
    (home.path / "redis").mkdir()
    (home.path / "run" / "redis.port").write_bytes(garbled)
    (home.path / "redis" / "password").write_bytes(garbled)
    (home.path / "run" / "redis.json").write_bytes(garbled)
    record = home.start("redis").record("redis")
    assert len((home.path / "redis" / "password").read_text()) == 32
    assert f":{(home.path / 'run' / 'redis.port').read_text()}/" in record.url


@pytest.mark.parametrize("text", ['{"name": "redis", "pid": "x", "started": 1, "url": ""}', "3", "null"])
def test_a_record_of_the_wrong_types_counts_as_none(tmp_path, text):
    (tmp_path / "redis.json").write_text(text)
    assert process.read(tmp_path, "redis") is None


def test_of_many_that_keep_a_new_value_at_once_all_get_the_same(tmp_path):
    code = "import sys, secrets, pathlib; from iba_site import state\n"
    code += "print(state.keep(pathlib.Path(sys.argv[1]), lambda: secrets.token_urlsafe(24), lambda text: bool(text)))"
    command = [sys.executable, "-c", code, str(tmp_path / "value")]
    many = [subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE, text=True) for _ in range(6)]
    said = {one.communicate()[0] for one in many}
    assert len(said) == 1
    assert [path.name for path in tmp_path.iterdir()] == ["value"]
    assert (tmp_path / "value").stat().st_mode & 0o077 == 0


@pytest.mark.parametrize(("kept", "is_new"), [(None, True), ("", True), ("k" * 60, False)])
def test_an_empty_secret_key_is_made_anew_and_a_good_one_stays(tmp_path, monkeypatch, kept, is_new):
    monkeypatch.setattr(settings, "IBA_HOME", tmp_path)
    monkeypatch.delenv("DATABASE_URL", raising=False)
    monkeypatch.delenv("SECRET_KEY", raising=False)
    if kept is not None:
        (tmp_path / "secret_key").write_text(kept)
    key = settings._secret_key()
    assert len(key) >= 50
    assert (key != kept) == is_new
    assert settings._secret_key() == key


@pytest.mark.parametrize("garbled", [b"short", b"\xff\xfe" * 40, b"\0" * 60])
def test_a_garbled_secret_key_is_refused_with_the_remedy_since_it_may_have_encrypted_keys(
    tmp_path, monkeypatch, garbled
):
    monkeypatch.setattr(settings, "IBA_HOME", tmp_path)
    monkeypatch.delenv("DATABASE_URL", raising=False)
    monkeypatch.delenv("SECRET_KEY", raising=False)
    (tmp_path / "secret_key").write_bytes(garbled)
    with pytest.raises(ImproperlyConfigured, match=r"secret_key holds no key .* Restore it; or remove it"):
        settings._secret_key()
    assert (tmp_path / "secret_key").read_bytes() == garbled


@pytest.mark.parametrize(
    ("said", "does"),
    [
        ("could not extend file: No space left on device", "The disk is full: free some of it"),
        ("[Errno 30] Read-only file system: '/x/.iba'", "set IBA_HOME to a folder where it can"),
        ("FATAL: could not map anonymous shared memory", "Memory is short"),
        ("something else", "Its log is in the folder log"),
    ],
)
def test_the_advice_fits_the_fault(tmp_path, said, does):
    with pytest.raises(ServiceError, match=does) as caught, explained("redis", tmp_path):
        raise OSError(said)
    assert str(caught.value).startswith(f"redis did not start in {tmp_path}: {said}")
    assert advice(said) in str(caught.value)


def test_a_home_that_is_no_folder_is_named_in_one_line(tmp_path):
    (tmp_path / "file").touch()
    done = Home(tmp_path / "file").do("start", "redis")
    assert done.returncode == 1
    assert "Traceback" not in done.stderr
    assert f"did not start in {tmp_path / 'file'}" in done.stderr


@pytest.fixture(params=["a folder where nothing can be written", "a home of another user"])
def closed(request, tmp_path):
    """A home that an ordinary user cannot use."""
    run = tmp_path / "run"
    run.mkdir(mode=0o700)
    shut = run if "another" in request.param else tmp_path
    if shut is tmp_path:
        run.rmdir()
    shut.chmod(0o500 if shut is tmp_path else 0)
    yield tmp_path
    shut.chmod(0o700)


@pytest.mark.parametrize(
    "command",
    [
        "-m iba_site.services start redis",
        "-m iba_site.services status",
        "-m iba_site.services stop",
        "-m iba_site.demo --no-site",
        "manage.py migrate",
    ],
)
def test_who_cannot_write_into_the_home_is_told_to_name_another(closed, command):
    done = as_ordinary_user(sys.executable, *command.split(), cwd=ROOT, IBA_HOME=str(closed))
    assert done.returncode == 1
    assert done.stderr.splitlines()[-1].endswith("This user cannot write there: set IBA_HOME to a folder where it can.")
    assert "Traceback" not in done.stderr
    assert "Permission denied" in done.stderr


def test_a_checkout_in_which_nothing_can_be_written_gets_no_environment_and_the_remedy(tmp_path):
    (tmp_path / "tools").mkdir()
    shutil.copy(ROOT / "tools" / "setup", tmp_path / "tools")
    tmp_path.chmod(0o500)
    done = as_ordinary_user("bash", "tools/setup", cwd=tmp_path)
    tmp_path.chmod(0o700)
    assert done.returncode == 1
    assert f"error: this user cannot write to {tmp_path}, where .venv has to be. Copy the folder" in done.stderr
    assert "python3-venv" not in done.stderr


def as_ordinary_user(*command, cwd, **environment):
    """Root writes wherever it likes, unless it gives that right away."""
    rights = "-dac_override,-dac_read_search"
    less = ["setpriv", "--bounding-set", rights, "--inh-caps", rights] if os.geteuid() == 0 else []
    kept = {name: value for name, value in os.environ.items() if name not in {"DATABASE_URL", "REDIS_URL", "IBA_HOME"}}
    return subprocess.run(
        [*less, *command], cwd=cwd, env={**kept, **environment}, capture_output=True, text=True, timeout=100
    )


@pytest.mark.parametrize("command", ["manage.py check", "-m iba_site.services start web"])
def test_a_setting_that_does_not_fit_is_named_in_one_line(tmp_path, command):
    elsewhere = {"DATABASE_URL": "postgresql://a:b@127.0.0.1:1/c", "REDIS_URL": "redis://127.0.0.1:1/0"}
    odd = {"IBA_HOME": str(tmp_path), "SECRET_KEY": "k" * 50, "PORT": "many", "DEBUG": "so"}
    done = as_ordinary_user(sys.executable, *command.split(), cwd=ROOT, **elsewhere, **odd)
    assert done.returncode == 1
    assert done.stderr.splitlines()[-1] in {
        "error: DEBUG='so' is not a yes or no; use 1 or 0",
        "error: PORT='many' is not a whole number",
    }
    assert "Traceback" not in done.stderr


def test_the_second_of_two_demos_on_one_home_is_refused(tmp_path, monkeypatch, capsys):
    monkeypatch.setenv("IBA_HOME", str(tmp_path))
    with demo.only_one(), pytest.raises(SystemExit) as ended:
        demo.main(["--no-site"])
    assert str(ended.value).startswith("error: another `make demo` is at work in")
    assert "IBA_HOME=" in str(ended.value)
    with (tmp_path / "run" / "demo.lock").open("a") as handle:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)  # it is free again


def logins(capsys):
    lines = capsys.readouterr().err.splitlines()[1:]
    return dict(line.split(maxsplit=1) for line in lines)


@pytest.mark.django_db
def test_every_password_that_the_demo_prints_opens_its_account(tmp_path, settings, capsys):
    settings.IBA_HOME = tmp_path
    call_command("demo_users")
    first = logins(capsys)
    (tmp_path / "demo_logins").write_text("admin\ngarbage in here\nviewer " + first["viewer"] + "\n")
    changed = User.objects.get(username="viewer")
    changed.set_password("her own choice")
    changed.save()
    call_command("demo_users")
    second = logins(capsys)
    assert second.pop("viewer") == "(the password was changed since)"
    assert all(authenticate(HttpRequest(), username=name, password=word) for name, word in second.items())


def test_a_file_that_does_not_fit_is_replaced_whole(tmp_path):
    path = tmp_path / "value"
    path.write_text("old")
    assert state.keep(path, lambda: "fits", lambda text: text == "fits") == "fits"
    assert path.read_text() == "fits"


def test_a_dead_child_is_buried_so_that_its_pid_counts_for_nobody(tmp_path):
    (tmp_path / "run").mkdir()
    record = process.spawn(tmp_path / "run", "short", [sys.executable, "-c", "pass"], url="")
    deadline = time.monotonic() + 60
    while psutil.pid_exists(record.pid):  # a zombie until somebody asks for it
        assert time.monotonic() < deadline
        record.process()
        time.sleep(0.01)
    assert process.running(tmp_path / "run", "short") is None
