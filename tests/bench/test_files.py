from __future__ import annotations

import json
import stat
from pathlib import Path

import pytest

from bench.exports import export_dataset
from bench.files import replacing, write_file
from bench.models import Dataset


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
    assert listed == {"personas.jsonl", "events.jsonl", "tasks.jsonl"}

    def broken(*_: object) -> object:
        yield {"persona": "p"}
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("bench.exports._events", broken)
    events = (tmp_path / "events.jsonl").read_text()
    with pytest.raises(OSError, match="No space"):
        export_dataset(tiny, tmp_path, gold=False)
    assert (tmp_path / "manifest.json").read_text() == before
    assert (tmp_path / "events.jsonl").read_text() == events
