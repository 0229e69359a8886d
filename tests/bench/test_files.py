from __future__ import annotations

import ast
import json
import stat
from collections.abc import Iterator
from pathlib import Path

import pytest

from bench.exports import export_results
from bench.files import replacing, write_file
from bench.models import Dataset
from bench.publishing.package import export_dataset
from bench.publishing.tables import PUBLIC
from tests.annotation.factories import make_run


def test_a_write_that_fails_leaves_the_old_file_and_nothing_beside_it(tmp_path: Path):
    path = tmp_path / "results.json"
    path.write_text("old")

    def fail() -> None:
        with replacing(path) as file:
            file.write(b"half of the n")
            raise OSError(28, "No space left on device")

    with pytest.raises(OSError, match="No space"):
        fail()
    assert path.read_text() == "old"
    assert list(tmp_path.iterdir()) == [path]


def test_a_reader_sees_the_old_file_until_the_new_one_is_whole(tmp_path: Path):
    path = tmp_path / "results.json"
    path.write_text("old")
    with replacing(path) as file:
        file.write(b"new")
        assert path.read_text() == "old"
    assert path.read_text() == "new"


def test_a_file_keeps_its_permissions_and_a_secret_one_is_never_readable_by_others(tmp_path: Path):
    path = tmp_path / "x"
    path.write_text("old")
    path.chmod(0o640)
    write_file(path, "new")
    assert stat.S_IMODE(path.stat().st_mode) == 0o640
    write_file(tmp_path / "secret", "s", mode=0o600)
    assert stat.S_IMODE((tmp_path / "secret").stat().st_mode) == 0o600


def test_a_link_goes_on_pointing_at_the_file(tmp_path: Path):
    (tmp_path / "file").write_text("old")
    (tmp_path / "link").symlink_to(tmp_path / "file")
    write_file(tmp_path / "link", "new")
    assert (tmp_path / "link").is_symlink()
    assert (tmp_path / "file").read_text() == "new"


def test_what_is_no_plain_file_is_written_to(tmp_path: Path):
    write_file(Path("/dev/null"), "x")
    assert not Path("/dev/null").is_file()


@pytest.mark.django_db
def test_an_export_that_fails_half_way_leaves_the_old_manifest(tmp_path: Path, tiny: Dataset, monkeypatch):
    export_dataset(tiny, tmp_path, gold=False)
    before = (tmp_path / "manifest.json").read_text()
    listed = {entry["file"] for entry in json.loads(before)["files"]}
    assert listed == {*(f"{name}.jsonl" for name in PUBLIC), "README.md", "croissant.json"}

    def broken(*_: object) -> str:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("bench.publishing.package.data_card", broken)
    events = (tmp_path / "events.jsonl").read_text()
    with pytest.raises(OSError, match="No space"):
        export_dataset(tiny, tmp_path, gold=False)
    assert (tmp_path / "manifest.json").read_text() == before
    assert (tmp_path / "events.jsonl").read_text() == events


ROOT = Path(__file__).resolve().parent.parent.parent
WRITERS = {"write_text", "write_bytes", "to_parquet", "to_csv", "write_table", "tofile", "copyfile", "copy2", "save_as"}
# The way itself, and what is no file to be read: two locks, and the log that a service goes on writing.
EXCEPTIONS = {"bench/files.py", "iba_site/demo.py", "iba_site/services/manager.py", "iba_site/services/process.py"}


def writes(source: str) -> Iterator[str]:
    """Calls that write to a path by themselves: ``open`` with a mode that writes, and those of WRITERS."""
    for node in ast.walk(ast.parse(source)):
        if not isinstance(node, ast.Call):
            continue
        name = node.func.attr if isinstance(node.func, ast.Attribute) else getattr(node.func, "id", "")
        values = [*node.args, *(keyword.value for keyword in node.keywords)]
        texts = [value.value for value in values if isinstance(value, ast.Constant) and isinstance(value.value, str)]
        mode = any(set(text) <= set("rwaxbt+") and set(text) & set("wax+") for text in texts)
        if name in WRITERS or (name in {"open", "fdopen"} and mode):
            yield f"{name} in line {node.lineno}"
        if name == "screenshot" and any(keyword.arg == "path" for keyword in node.keywords):
            yield f"{name} in line {node.lineno}"


def test_every_file_that_we_write_takes_the_place_of_the_old_one_whole():
    sources = {
        str(path.relative_to(ROOT)): path.read_text(encoding="utf-8")
        for folder in ("agents", "bench", "annotation", "iba_site", "tools", "examples")
        for path in sorted((ROOT / folder).rglob("*.py"))
    }
    found = {name: list(writes(source)) for name, source in sources.items()}
    assert {name for name, calls in found.items() if calls} == EXCEPTIONS
    assert [call.partition(" ")[0] for name in sorted(EXCEPTIONS) for call in found[name]] == [
        "open", "fdopen", "open", "open", "open",
    ]  # fmt: skip


@pytest.mark.django_db
def test_an_export_of_results_that_fails_half_way_leaves_the_old_manifest(tmp_path: Path, monkeypatch):
    run = make_run(personas=1)
    files = [entry["file"] for entry in export_results(run, tmp_path)]
    assert files[-1] == "manifest.json"
    (tmp_path / "manifest.json").write_text("old")

    def broken(*_: object) -> str:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("bench.exports._scores", broken)
    scores = (tmp_path / "scores.csv").read_text()
    with pytest.raises(OSError, match="No space"):
        export_results(run, tmp_path)
    assert (tmp_path / "manifest.json").read_text() == "old"
    assert (tmp_path / "scores.csv").read_text() == scores
    assert sorted(path.name for path in tmp_path.iterdir()) == sorted(files)
