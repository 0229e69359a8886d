"""What a published dataset says of itself: a data card for people, Croissant metadata for programs."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any

from bench.models import Dataset
from bench.publishing.tables import Table

if TYPE_CHECKING:
    from bench.publishing.package import Written

LICENCE = "Apache-2.0"
LICENCE_URL = "https://www.apache.org/licenses/LICENSE-2.0"
CONTEXT: Mapping[str, Any] = {
    "@language": "en",
    "@vocab": "https://schema.org/",
    "citeAs": "cr:citeAs",
    "column": "cr:column",
    "conformsTo": "dct:conformsTo",
    "cr": "http://mlcommons.org/croissant/",
    "data": {"@id": "cr:data", "@type": "@json"},
    "dataType": {"@id": "cr:dataType", "@type": "@vocab"},
    "dct": "http://purl.org/dc/terms/",
    "equivalentProperty": "cr:equivalentProperty",
    "examples": {"@id": "cr:examples", "@type": "@json"},
    "extract": "cr:extract",
    "field": "cr:field",
    "fileObject": "cr:fileObject",
    "fileProperty": "cr:fileProperty",
    "fileSet": "cr:fileSet",
    "format": "cr:format",
    "includes": "cr:includes",
    "isLiveDataset": "cr:isLiveDataset",
    "jsonPath": "cr:jsonPath",
    "key": "cr:key",
    "md5": "cr:md5",
    "parentField": "cr:parentField",
    "path": "cr:path",
    "rai": "http://mlcommons.org/croissant/RAI/",
    "recordSet": "cr:recordSet",
    "references": "cr:references",
    "regex": "cr:regex",
    "repeated": "cr:repeated",
    "replace": "cr:replace",
    "samplingRate": "cr:samplingRate",
    "sc": "https://schema.org/",
    "separator": "cr:separator",
    "source": "cr:source",
    "subField": "cr:subField",
    "transform": "cr:transform",
}
MEDIA = {"jsonl": "application/jsonlines", "parquet": "application/x-parquet"}


def data_card(dataset: Dataset, tables: Mapping[str, Table], written: Iterable[Written]) -> str:
    """Markdown: what is in it, how it was written, for what it is fit and unfit, its checks, its licence."""
    counts = dataset.summary
    gold = any(name.startswith("gold_") for name in tables)
    parts = [
        f"# {dataset.name}, version {dataset.version}{f'.{dataset.revision}' if dataset.revision else ''}",
        f"{counts.get('personas', 0):,} simulated people, {counts.get('events', 0):,} events of their year, "
        f"{counts.get('tasks', 0):,} tasks with {counts.get('checkpoints', 0):,} checkpoints. It measures whether an "
        "agent acts on what a person has shown in a history, not only on what the request says.",
        "## What is in it",
        _table_list(tables),
        "Nobody in it exists. "
        + ("Tables that begin with `gold_` tell the answers: keep them from agents and from training data." if gold else
           "The answers (tables that begin with `gold_`) are not in this folder."),
        "## How it was written",
        _how(dataset),
        "## Fit and unfit",
        "Fit: comparing methods that retrieve from long personal histories and act on them; studying where knowledge "
        "about a person is lost on the way to an action. Unfit: training an agent that is then measured on it; "
        "conclusions about real people, about how common a preference is, or about an age, sex, country or faith, "
        "since all of these are drawn at random; advice on health or money.",
        "## Checks",
        _checks(dataset),
        "## Files",
        "\n".join(f"- `{one['file']}`: {one['bytes']:,} bytes, sha256 `{one['sha256']}`" for one in written),
        f"`manage.py import_dataset --path FOLDER` takes the folder {'' if gold else '(with gold) '}into a database; "
        f"the dataset's sha256 is `{dataset.sha256}`.",
        "## Licence",
        "Apache License 2.0.",
    ]  # fmt: skip
    return "\n\n".join(parts) + "\n"


def _table_list(tables: Mapping[str, Table]) -> str:
    rows = []
    for name, table in tables.items():
        columns = ", ".join(f"`{column}` ({what})" for column, what in table.columns.items())
        rows.append(f"- `{name}`: {table.about} Columns: {columns}.")
    return "\n".join(rows)


def _how(dataset: Dataset) -> str:
    if dataset.source != "generated":
        return f"Imported from elsewhere ({dataset.source})."
    return (
        f"Generated with seed {dataset.seed}, size {dataset.size}, noise {dataset.noise:g}, author {dataset.author}, "
        f"from the authored catalogue {dataset.data_version}: people with facts that fit together, preferences that "
        "are constant, change, hang on a condition or give way to a temporary state, and texts that show them. Texts "
        "of the dev and the test split are different ones. The same arguments give the same sha256."
    )


def _checks(dataset: Dataset) -> str:
    if dataset.checked_at is None:
        return "Nobody has checked this version."
    missed = [row for row in dataset.checks if not row["passed"]]
    rows = [f"- {row['name']}: {row['value']} (allowed: {row['limit']})" for row in missed]
    head = f"{len(dataset.checks) - len(missed)} of {len(dataset.checks)} checks are met"
    retired = dataset.validity["retired_checkpoints"]
    tail = [f"{retired} checkpoints were found wrong and are retired."] if retired else []
    return "\n\n".join([head + ("; not met:" if rows else "."), *(["\n".join(rows)] if rows else []), *tail])


def croissant(dataset: Dataset, tables: Mapping[str, Table], written: Iterable[Written], url: str) -> dict[str, Any]:
    """Croissant 1.0 as JSON-LD: each file, and each table's columns out of its Parquet file, else its JSONL."""
    data = [one for one in written if one["file"].rpartition(".")[2] in MEDIA]
    names = {one["file"] for one in data}
    return {
        "@context": dict(CONTEXT),
        "@type": "sc:Dataset",
        "name": dataset.name,
        "description": "Long simulated personal histories with hidden, changing preferences, and tasks on them.",
        "conformsTo": "http://mlcommons.org/croissant/1.0",
        "license": LICENCE_URL,
        **({"url": url} if url else {}),
        "version": f"{dataset.version}.{dataset.revision}.0",
        "datePublished": f"{dataset.created_at:%Y-%m-%d}",
        "distribution": [_file(one) for one in data],
        "recordSet": [_records(name, table, names) for name, table in tables.items()],
    }


def _file(one: Written) -> dict[str, str]:
    return {
        "@type": "cr:FileObject",
        "@id": one["file"],
        "name": one["file"],
        "contentUrl": one["file"],
        "contentSize": f"{one['bytes']} B",
        "encodingFormat": MEDIA[one["file"].rpartition(".")[2]],
        "sha256": one["sha256"],
    }


def _records(name: str, table: Table, files: set[str]) -> dict[str, Any]:
    source = f"{name}.parquet" if f"{name}.parquet" in files else f"{name}.jsonl"
    return {
        "@type": "cr:RecordSet",
        "@id": name,
        "name": name,
        "description": table.about,
        "field": [
            {
                "@type": "cr:Field",
                "@id": f"{name}/{column}",
                "name": column,
                "description": what,
                "dataType": _type(table, column),
                "source": {"fileObject": {"@id": source}, "extract": {"column": column}},
            }
            for column, what in table.columns.items()
        ],
    }


def _type(table: Table, column: str) -> str:
    if column in table.numbers:
        return "sc:Integer"
    if column in table.fractions:
        return "sc:Float"
    return "sc:Boolean" if column in table.switches else "sc:Text"
