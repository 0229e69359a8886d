"""The manifest holds what the numbers depend on, and nothing that is secret or only of the moment."""

from __future__ import annotations

import json

import pytest

from bench.models import Endpoint, Run
from bench.reader.faults import MODELS, Dials
from bench.runs import manifest as manifests
from bench.runs.endpoints import encrypt_key, resolve_endpoint
from bench.runs.launch import launch_run, manifest_of, plan_run
from bench.runs.spec import RunSpec
from tests.annotation.factories import make_run


@pytest.fixture
def wish(db, offline):
    dataset = make_run(personas=2).dataset
    return {"dataset": dataset.name, "methods": ["iba"], "model": "offline"}


def sha256(wish, **changes):
    return manifest_of(plan_run(RunSpec(**{**wish, **changes})))[1]


def test_the_same_wish_has_the_same_manifest(wish):
    assert sha256(wish) == sha256(wish)
    assert launch_run(RunSpec(**wish)).manifest_sha256 == sha256(wish)


@pytest.mark.parametrize("same", [{"max_in_flight": 3}, {"budget_usd": 2.0}])
def test_what_changes_no_number_is_not_in_it(wish, same):
    assert sha256(wish, **same) == sha256(wish)


@pytest.mark.parametrize(
    "other",
    [
        {"methods": ["rag"]},
        {"methods": ["iba", "rag"]},
        {"model": "offline+prose=0.1"},
        {"judges": ["offline-judge-a"]},
        {"judges": ["offline-judge-c", "offline-judge-b", "offline-judge-a"]},
        {"limit": 1},
        {"repeats": 2},
        {"seed": 2},
    ],
)
def test_what_changes_a_number_changes_the_hash(wish, other):
    assert sha256(wish, **other) != sha256(wish)


def test_another_dataset_version_changes_the_hash(wish):
    before = sha256(wish)
    newest = Run.objects.first().dataset
    newest.sha256 = "f" * 64
    newest.save()
    assert sha256(wish) != before


def test_changed_code_and_changed_prompts_change_the_hash(wish, monkeypatch):
    before = sha256(wish)
    monkeypatch.setattr(manifests, "code_sha256", lambda: "other code")
    code = sha256(wish)
    monkeypatch.setattr(manifests, "prompt_hashes", lambda: {"agents/prompts/x.md": "000000000000"})
    assert len({before, code, sha256(wish)}) == 3


def test_every_prompt_file_stands_in_it_by_its_hash(wish):
    manifest, _ = manifest_of(plan_run(RunSpec(**wish)))
    files = {str(p.relative_to(manifests.ROOT)) for p in manifests.ROOT.glob("agents/prompts/**/*.md")}
    assert files
    assert files <= set(manifest["prompts"])
    assert any(name.startswith("bench/grading/prompts/") for name in manifest["prompts"])


def test_neither_key_nor_address_is_in_it(wish):
    key = "sk-very-secret-0123456789"
    Endpoint.objects.create(
        slug="real",
        base_url="http://someone:password@models.example:8080/v1",
        model="m",
        family="f",
        key_encrypted=encrypt_key(key),
    )
    Endpoint.objects.create(slug="grader", base_url="http://models.example/v1", model="g", family="g")
    assert resolve_endpoint("real").api_key == key
    assert key not in repr(resolve_endpoint("real"))
    manifest, _ = manifest_of(plan_run(RunSpec(**{**wish, "model": "real", "judges": ["grader"]})))
    text = json.dumps(manifest)
    assert not [part for part in (key, "password", "models.example") if part in text]


def test_a_key_stored_under_another_secret_is_reported_and_not_used(wish, settings):
    Endpoint.objects.create(
        slug="real", base_url="http://m.example/v1", model="m", family="f", key_encrypted=encrypt_key("k")
    )
    settings.SECRET_KEY = "another"
    with pytest.raises(ValueError, match="another SECRET_KEY; enter it again"):
        resolve_endpoint("real")


def test_a_runs_manifest_says_the_dials_of_reader_and_judges(wish):
    judges = ["offline-judge-a", "offline-exact", "offline+errs=0.2"]
    run = launch_run(RunSpec(**{**wish, "model": "offline-weak+keeps=0.5", "judges": judges}))
    said = Run.objects.get(pk=run.pk).manifest
    assert said["model"]["dials"] == {"understands": 0.8, "keeps": 0.5, "errs": 0.0}  # keeps is 0.8 without the setting
    assert [judge["dials"]["errs"] for judge in said["judges"]] == [0.03, 0.0, 0.2]


def test_the_dials_of_a_model_are_part_of_the_hash_even_where_its_name_is_the_same(wish, monkeypatch):
    before = sha256(wish)
    monkeypatch.setitem(MODELS, "offline", Dials(understands=0.9))
    assert sha256(wish) != before


def test_a_real_model_has_no_dials(wish):
    for slug in ("real", "grader"):
        Endpoint.objects.create(slug=slug, base_url="http://127.0.0.1:9/v1", model=slug, family=slug)
    manifest, _ = manifest_of(plan_run(RunSpec(**{**wish, "model": "real", "judges": ["grader"]})))
    assert "dials" not in manifest["model"]
