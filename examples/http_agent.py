"""A small agent that lives outside: fetch a task, search, act, submit, until none is left.

    manage.py add_token admin --scope agent
    python examples/http_agent.py http://127.0.0.1:8000 TOKEN starter --model my-model --limit 5

It needs nothing but httpx. Stop it at any moment and start it again with --run: it goes on where it was.
docs/external_agents.md says what the addresses take and give. Replace ``write`` and ``fill`` by your own agent.
"""

from __future__ import annotations

import argparse
from typing import Any

import httpx


def write(task: dict[str, Any], events: list[dict[str, Any]]) -> str:
    """A text for a task without tools: repeat what the history says. Yours will do better."""
    lines = [f"{event['occurred_at'][:10]}: {event['text']}" for event in events]
    return "\n".join([f"About: {task['request']}", *lines])


def fill(tool: dict[str, Any], item_id: str, task: dict[str, Any]) -> dict[str, Any]:
    """Arguments of a committing call: the first item, the first option, and dull values elsewhere."""
    arguments: dict[str, Any] = {}
    for name, schema in tool["parameters"]["properties"].items():
        if name.endswith("_id"):
            arguments[name] = item_id
        elif "enum" in schema:
            arguments[name] = schema["enum"][0]
        elif schema.get("format") == "date":
            arguments[name] = task["as_of"][:10]
        elif schema.get("format") == "time":
            arguments[name] = task["as_of"][11:16]
        else:
            kinds = schema["type"] if isinstance(schema["type"], list) else [schema["type"]]
            arguments[name] = {"integer": 1, "number": 1, "boolean": False}.get(kinds[0], "")
    return arguments


def work_on(client: httpx.Client, unit: int, task: dict[str, Any], committed: list[str]) -> None:
    """One task from search to submission. ``committed``: tools that were called before it was stopped."""
    found = client.post(f"/api/external/units/{unit}/search", json={"query": task["request"], "k": 8})
    events = [] if found.status_code == 409 else found.raise_for_status().json()["events"]  # 409: the budget is used up
    text = ""
    if task["tools"]:
        lookup = next(tool for tool in task["tools"] if not tool["commits"])
        left = [tool for tool in task["tools"] if tool["commits"] and tool["name"] not in committed]
        use = f"/api/external/units/{unit}/tools"
        items = client.post(use, json={"name": lookup["name"], "arguments": {}}).raise_for_status().json()["items"]
        for commit in left:
            arguments = fill(commit, items[0]["id"], task)
            client.post(use, json={"name": commit["name"], "arguments": arguments}).raise_for_status()
    else:
        text = write(task, events)
    steps = [{"stage": "think", "kind": "note", "summary": f"Repeated {len(events)} events and thought nothing."}]
    client.post(f"/api/external/units/{unit}/submit", json={"text": text, "steps": steps}).raise_for_status()


def run(client: httpx.Client, run_id: int) -> int:
    """Work until no task is left. Returns how many were done."""
    done = 0
    while True:
        given = client.post(f"/api/external/runs/{run_id}/next").raise_for_status().json()
        if given["unit"] is None:
            return done
        work_on(client, given["unit"], given["task"], [call["tool"] for call in given["committed"]])
        done += 1


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("site")
    parser.add_argument("token")
    parser.add_argument("dataset")
    parser.add_argument("--name", default="example", help="of your method: small letters, digits and _")
    parser.add_argument("--model", default="none", help="the model that your agent uses; this one uses none")
    parser.add_argument("--judges", default="", help="endpoints that grade texts, with commas; else rules and people")
    parser.add_argument("--limit", type=int)
    parser.add_argument("--run", type=int, help="go on with this run")
    wish = parser.parse_args()
    with httpx.Client(base_url=wish.site, headers={"Authorization": f"Bearer {wish.token}"}, timeout=60) as client:
        run_id = wish.run
        if run_id is None:
            judges = [name for name in wish.judges.split(",") if name]
            body = {"name": wish.name, "dataset": wish.dataset, "model": wish.model, "judges": judges}
            body |= {"limit": wish.limit}
            run_id = client.post("/api/external/runs", json=body).raise_for_status().json()["run"]
        print(f"run {run_id}: {run(client, run_id)} tasks done; see {wish.site}/runs/{run_id}/")


if __name__ == "__main__":
    main()
