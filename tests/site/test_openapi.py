"""The API's description of itself."""

from __future__ import annotations

import json

from django.test import Client


def test_the_openapi_document_is_whole_and_every_route_of_ours_stands_in_it(db):
    from jsonschema import Draft202012Validator

    document = Client().get("/api/openapi.json")
    assert document.status_code == 200
    spec = document.json()
    assert spec["openapi"].startswith("3.1")
    assert set(spec["paths"]) >= {
        "/api/token",
        "/api/datasets",
        "/api/runs",
        "/api/runs/{run_id}",
        "/api/runs/{run_id}/results",
        "/api/runs/{run_id}/trajectories",
        "/api/runs/{run_id}/{action}",
        "/api/trajectories/{trajectory_id}",
    }
    for schema in spec["components"]["schemas"].values():
        Draft202012Validator.check_schema(schema)
    names = [op["operationId"] for path in spec["paths"].values() for op in path.values()]
    assert len(names) == len(set(names))
    text = json.dumps(spec)
    references = {part.split('"')[0] for part in text.split('"$ref": "#/components/schemas/')[1:]}
    assert references <= set(spec["components"]["schemas"])


def test_every_answer_is_typed_and_every_route_and_field_says_what_it_means(db):
    spec = Client().get("/api/openapi.json").json()
    for path, routes in spec["paths"].items():
        for verb, route in routes.items():
            good = next(answer for code, answer in route["responses"].items() if code in ("200", "201"))
            shape = good["content"]["application/json"]["schema"]
            assert "$ref" in shape.get("items", shape), (verb, path)
            assert route["description"], (verb, path)
            error = route["responses"]["default"]["content"]["application/json"]["schema"]
            assert error == {"$ref": "#/components/schemas/ErrorOut"}
    silent = [
        f"{name}.{field}"
        for name, schema in spec["components"]["schemas"].items()
        for field, content in schema.get("properties", {}).items()
        if not content.get("description")
    ]
    assert silent == []
