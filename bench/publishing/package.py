"""The folder of a published dataset: tables as JSONL and Parquet, a data card, Croissant metadata, a manifest."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any, TypedDict

import pyarrow as pa
import pyarrow.parquet as pq

from bench.files import write_file
from bench.models import Dataset
from bench.publishing.card import croissant, data_card
from bench.publishing.tables import GOLD, PUBLIC, Row, Table, lines

FORMAT = 1


class Written(TypedDict):
    file: str
    bytes: int
    sha256: str


def export_dataset(
    dataset: Dataset, folder: Path, *, gold: bool, parquet: bool = False, url: str = ""
) -> list[Written]:
    """Every table as JSONL, with ``parquet`` also as Parquet; README.md, croissant.json, last manifest.json.

    Without ``gold`` nothing in the folder tells an answer. Returns files with sha256. Each takes the place of an old
    one only once it is whole.
    """
    tables = {**PUBLIC, **(GOLD if gold else {})}
    written: list[Written] = []
    for name, table in tables.items():
        rows = list(table.rows(dataset))
        written.append(write(folder / f"{name}.jsonl", lines(rows)))
        if parquet:
            written.append(write(folder / f"{name}.parquet", as_parquet(table, rows)))
    written.append(write(folder / "README.md", data_card(dataset, tables, written)))
    described = croissant(dataset, tables, written, url)
    written.append(write(folder / "croissant.json", json.dumps(described, indent=2, ensure_ascii=False) + "\n"))
    return [*written, write(folder / "manifest.json", json.dumps(_manifest(dataset, written), indent=2) + "\n")]


def write(path: Path, content: str | bytes) -> Written:
    path.parent.mkdir(parents=True, exist_ok=True)
    data = content.encode() if isinstance(content, str) else content
    write_file(path, data)
    return {"file": path.name, "bytes": len(data), "sha256": hashlib.sha256(data).hexdigest()}


def as_parquet(table: Table, rows: Iterable[Row]) -> bytes:
    """The rows with typed columns; what is an object or a list stands as JSON text."""
    schema = pa.schema([(name, _type(table, name)) for name in table.columns])
    plain = [{name: _cell(table, name, row[name]) for name in table.columns} for row in rows]
    sink = pa.BufferOutputStream()
    with pq.ParquetWriter(sink, schema) as writer:
        writer.write(pa.Table.from_pylist(plain, schema=schema))
    found: bytes = sink.getvalue().to_pybytes()
    return found


def _type(table: Table, name: str) -> pa.DataType:
    if name in table.numbers:
        return pa.int64()
    if name in table.fractions:
        return pa.float64()
    return pa.bool_() if name in table.switches else pa.string()


def _cell(table: Table, name: str, value: Any) -> Any:
    return json.dumps(value, ensure_ascii=False, default=str) if name in table.json else value


def _manifest(dataset: Dataset, written: Iterable[Written]) -> Mapping[str, Any]:
    names = ("seed", "size", "noise", "author", "data_version", "source", "summary", "revision", "checks")
    return {
        "format": FORMAT,
        "dataset": dataset.name,
        "version": dataset.version,
        "sha256": dataset.sha256,
        **{name: getattr(dataset, name) for name in names},
        "checks_sha256": dataset.checks_sha256,
        "validity": dataset.validity,
        "files": list(written),
    }
