"""A published dataset is a folder that reads by itself, and that another database takes in as it was."""

from __future__ import annotations

import hashlib
import json

import pyarrow.parquet as pq
import pytest
from django.core.management import CommandError, call_command

from bench.grading.errata import retire
from bench.models import Checkpoint, Dataset, Dimension, Domain, Event, Scenario, TextVector
from bench.publishing.importing import PackageError, import_dataset, read_package
from bench.publishing.package import export_dataset
from bench.publishing.tables import GOLD, PUBLIC


@pytest.fixture
def folder(tiny, tmp_path):
    export_dataset(tiny, tmp_path, gold=True, parquet=True)
    return tmp_path


def empty():
    """As if nothing had ever been loaded here."""
    Dataset.objects.all().delete()
    Scenario.objects.all().delete()
    Dimension.objects.all().delete()
    Domain.objects.all().delete()
    TextVector.objects.all().delete()


def hashes(folder):
    return {path.name: hashlib.sha256(path.read_bytes()).hexdigest() for path in sorted(folder.glob("*.jsonl"))}


def test_an_empty_database_takes_it_in_with_the_same_sha256_and_exports_the_same_bytes(tiny, folder, tmp_path):
    retire(Checkpoint.objects.earliest("pk").pk, reason="Wrong.", by="ada")
    tiny.refresh_from_db()
    export_dataset(tiny, folder, gold=True)
    counted = Event.objects.count()
    before = hashes(folder)
    empty()
    found = import_dataset(read_package(folder))
    assert (found.sha256, str(found), Event.objects.count()) == (tiny.sha256, "tiny v1.1", counted)
    export_dataset(found, tmp_path / "again", gold=True)
    assert hashes(tmp_path / "again") == before
    assert found.validity["retired_checkpoints"] == 1


def test_the_same_folder_is_taken_in_once_and_under_another_name_again(tiny, folder):
    assert import_dataset(read_package(folder)).pk == tiny.pk
    other = import_dataset(read_package(folder), name="other")
    assert (other.name, other.version, other.sha256) == ("other", 1, tiny.sha256)
    assert Dataset.objects.count() == 2


def test_without_gold_nothing_in_the_folder_tells_an_answer(tiny, tmp_path):
    export_dataset(tiny, tmp_path, gold=False, parquet=True)
    assert {path.stem for path in tmp_path.glob("*.jsonl")} == set(PUBLIC)
    told = "".join(path.read_text() for path in tmp_path.iterdir() if path.suffix in {".jsonl", ".md", ".json"})
    checkpoint = Checkpoint.objects.filter(kind="preference").earliest("pk")
    assert checkpoint.text not in told
    assert '"traits"' not in told
    with pytest.raises(PackageError, match=r"gold_lives.jsonl is missing; export the dataset with --gold"):
        read_package(tmp_path)


def test_parquet_holds_the_same_rows_as_the_lines(folder):
    for name, table in {**PUBLIC, **GOLD}.items():
        rows = [json.loads(line) for line in (folder / f"{name}.jsonl").read_text().splitlines()]
        found = pq.read_table(folder / f"{name}.parquet").to_pylist()
        assert len(found) == len(rows)
        assert [
            {key: json.loads(value) if key in table.json else value for key, value in row.items()} for row in found
        ] == rows


def test_the_metadata_names_every_file_with_its_hash_and_every_column(folder):
    told = json.loads((folder / "croissant.json").read_text())
    assert told["conformsTo"] == "http://mlcommons.org/croissant/1.0"
    for one in told["distribution"]:
        assert one["sha256"] == hashlib.sha256((folder / one["contentUrl"]).read_bytes()).hexdigest()
    columns = {record["name"]: [field["name"] for field in record["field"]] for record in told["recordSet"]}
    assert columns == {name: list(table.columns) for name, table in {**PUBLIC, **GOLD}.items()}


def test_the_data_card_says_what_it_is_fit_for_and_what_its_checks_found(tiny, folder):
    card = (folder / "README.md").read_text()
    for words in ("## What is in it", "## How it was written", "## Fit and unfit", "## Licence", tiny.sha256):
        assert words in card


def spoil(folder, name, change):
    """Changes a file and makes the manifest agree with it."""
    path = folder / name
    path.write_text(change(path.read_text()))
    manifest = json.loads((folder / "manifest.json").read_text())
    for one in manifest["files"]:
        if one["file"] == name:
            one["sha256"] = hashlib.sha256(path.read_bytes()).hexdigest()
    (folder / "manifest.json").write_text(json.dumps(manifest))


@pytest.mark.parametrize(
    ("name", "change", "says"),
    [
        ("events.jsonl", lambda text: "{" + text, r"events.jsonl:1: no JSON"),
        (
            "events.jsonl",
            lambda text: '{"persona": 1}\n' + text,
            r"events.jsonl:1: the columns are not persona",
        ),
        ("tasks.jsonl", lambda text: text.replace('"persona": "', '"persona": "x', 1), "do not fit together"),
        ("events.jsonl", lambda text: text.replace("+00:00", "Z"), "would not be exported as it was read"),
    ],
)
def test_a_folder_that_is_not_what_was_exported_is_refused_whole(folder, name, change, says):
    spoil(folder, name, change)
    empty()
    with pytest.raises(PackageError, match=says):
        import_dataset(read_package(folder))
    assert not Dataset.objects.exists()
    assert not Domain.objects.exists()


def test_a_file_that_was_changed_on_the_way_is_named(folder):
    (folder / "events.jsonl").write_text("")
    with pytest.raises(PackageError, match=r"events.jsonl: its sha256 is not the manifest's"):
        read_package(folder)


def test_the_commands_write_the_folder_and_take_it_in(tiny, tmp_path, capsys):
    call_command("export_dataset", "--dataset", "tiny", "--out", str(tmp_path / "p"), "--gold", "--url", "https://a.b/")
    assert json.loads((tmp_path / "p" / "croissant.json").read_text())["url"] == "https://a.b/"
    call_command("import_dataset", "--path", str(tmp_path / "p"), "--name", "copy", "--json", str(tmp_path / "r.json"))
    found = json.loads((tmp_path / "r.json").read_text())
    assert found == {"dataset": "copy", "version": 1, "sha256": tiny.sha256}
    with pytest.raises(CommandError, match=r"manifest.json is not readable"):
        call_command("import_dataset", "--path", str(tmp_path / "nowhere"))
