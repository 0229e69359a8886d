"""What the API takes and gives for tokens, datasets and runs."""

from __future__ import annotations

from datetime import datetime
from typing import TYPE_CHECKING, Annotated, Any, Optional, TypeAlias

from ninja import Field, Schema
from pydantic import create_model

from bench.runs.spec import OPTIONS, Kind
from bench.tokens import USUAL, Scope
from iba_site.schemas import Given

Text = Annotated[str, Field(max_length=300)]


class ErrorOut(Schema):
    error: str = Field(description="what does not fit and what would be right, in a sentence")


class Credentials(Given):
    username: str = Field(max_length=150, description="name of a user")
    password: Text = Field(description="that user's password")
    name: Text = Field("api", description="where the token is used, for your own list of them")
    scopes: list[Scope] = Field(
        default_factory=lambda: list(USUAL),
        description="what the token may be used for. agent: external runs; read: runs and results; launch: start and "
        "change runs; gold: checkpoints and verdicts in trajectories. All but gold unless named",
    )


class Token(Schema):
    token: str = Field(description="send it as Authorization: Bearer TOKEN; it is stored as a hash only")


class CheckOut(Schema):
    name: str = Field(description="what was checked")
    value: float | None = Field(description="what was found; null where it could not be computed")
    limit: str = Field(description="what is allowed")
    n: int = Field(description="how many were checked")


class ValidityOut(Schema):
    valid: bool | None = Field(description="null where nothing was checked; false: no run without even_if_invalid")
    revision: int = Field(description="counted up whenever a checkpoint of this version is retired or put back")
    retired_checkpoints: int = Field(description="found wrong; scores of all runs on this version leave them out")
    checked_at: datetime | None = Field(description="when it was checked; null where it was not")
    failed_gates: list[CheckOut] = Field(description="gates that forbid a run")
    limits_not_met: list[CheckOut] = Field(description="shortcuts that reach too far; they forbid no run")


class DatasetOut(Schema):
    name: str = Field(description="name by which runs ask for it")
    version: int = Field(description="the newest version is taken")
    sha256: str = Field(description="hash of its contents")
    source: str = Field(description="generated, or the importer that read it")
    data_version: str = Field(description="version of the catalogue that it was generated from")
    summary: dict[str, Any] = Field(description="counts: personas, events, tasks, checkpoints, conflicts")
    validity: ValidityOut = Field(description="what the checks of this version found")


def _launch_fields() -> dict[str, tuple[object, object]]:
    """The options of a run as fields of a schema, with their words and bounds."""
    types: dict[Kind, object] = {
        Kind.TEXT: Text, Kind.NAMES: list[Text], Kind.NUMBER: int, Kind.SUM: float, Kind.SWITCH: bool,
    }  # fmt: skip
    found: dict[str, tuple[object, object]] = {}
    for name, option in OPTIONS.items():
        plain = types[option.kind]
        kind = Optional[plain] if option.default is None else plain  # noqa: UP045 (a value, not an annotation)
        filled = {"default_factory": list} if option.kind is Kind.NAMES else {"default": option.default}
        found[name] = (kind, Field(description=option.help, **({} if option.required else filled)))
    return found


if TYPE_CHECKING:
    LaunchIn: TypeAlias = Given
else:
    LaunchIn = create_model("LaunchIn", __base__=Given, **_launch_fields())


class RunChange(Given):
    budget_usd: float | None = Field(description="what the run may spend in US dollars; null: no limit")


class RunOut(Schema):
    id: int = Field(description="id for the addresses below /api/runs/")
    status: str = Field(description="running, paused, done or cancelled")
    dataset: str = Field(description="name and version")
    model: str = Field(description="the model of the agent")
    simulated: bool = Field(description="true where agent or judges are the simulated reader")
    gold_seen: bool = Field(description="an agent elsewhere whose people had been shown gold of the dataset before")
    even_if_invalid: bool = Field(description="started although the dataset's version fails its checks")
    manifest_sha256: str = Field(description="hash of all that decides the results")
    created_at: datetime = Field(description="when it was started")
    finished_at: datetime | None = Field(description="when it ended; null while it goes on")
    spent_usd: float = Field(description="what its calls have cost so far")
    budget_usd: float | None = Field(description="where it stops new work; null: no limit")


class WaitingOut(Schema):
    away: str = Field(description="service or endpoint that does not answer")
    since: datetime = Field(description="since when")
    reason: str = Field(description="what it said, or why it cannot be reached")


class ProgressOut(Schema):
    run: RunOut = Field(description="the run")
    planned: int = Field(description="units: one a task, method and repeat")
    done: int = Field(description="units that are scored, failed or cancelled")
    scored: int = Field(description="units with verdicts")
    running: int = Field(description="units at work, judges included")
    queued: int = Field(description="units that wait for their turn")
    failed: int = Field(description="units that ended by a fault; Retry takes them up again")
    cancelled: int = Field(description="units that were cancelled")
    rate_per_s: float = Field(description="units that end in a second, of late")
    waiting: list[WaitingOut] = Field(description="what the run waits for now; empty where nothing is away")
    errors: list[tuple[str, int]] = Field(description="reasons of failed units, and how often")


class TrajectoryRow(Schema):
    id: int = Field(description="id for /api/trajectories/")
    task: str = Field(alias="unit.task.slug", description="slug of the task")
    method: str = Field(alias="unit.method", description="name of the method")
    repeat: int = Field(alias="unit.repeat", description="0 for the first trial")
    termination: str = Field(description="how it ended")
    evidence_recall: float | None = Field(description="share of the gold events that it saw; null where there are none")
    cost_usd: float = Field(description="price of its calls in US dollars")


class Page(Schema):
    items: list[TrajectoryRow] = Field(description="in order of their ids")
    total: int = Field(description="all there are")
    next_offset: int | None = Field(description="offset of the next page; null on the last")
