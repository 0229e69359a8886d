"""The tables of the benchmark, one file a noun."""

from bench.models.audit import AuditAnswer, AuditQuestion, Erratum, ReaderKind
from bench.models.catalogue import Dimension, Domain, Scenario
from bench.models.dataset import Dataset, RejectedText
from bench.models.endpoint import ApiToken, Endpoint
from bench.models.external import ExternalSession, GoldReading
from bench.models.outage import OutageRow
from bench.models.persona import Event, EventLabel, EventRole, EventVector, Persona, Split, TextVector
from bench.models.run import ModelCall, Run, RunStatus, ScoreChanges, Unit, UnitStatus
from bench.models.task import Checkpoint, CheckpointKind, Task
from bench.models.trajectory import Trajectory
from bench.models.verdict import CheckpointScore, Verdict

__all__ = [
    "ApiToken",
    "AuditAnswer",
    "AuditQuestion",
    "Checkpoint",
    "CheckpointKind",
    "CheckpointScore",
    "Dataset",
    "Dimension",
    "Domain",
    "Endpoint",
    "Erratum",
    "Event",
    "EventLabel",
    "EventRole",
    "EventVector",
    "ExternalSession",
    "GoldReading",
    "ModelCall",
    "OutageRow",
    "Persona",
    "ReaderKind",
    "RejectedText",
    "Run",
    "RunStatus",
    "Scenario",
    "ScoreChanges",
    "Split",
    "Task",
    "TextVector",
    "Trajectory",
    "Unit",
    "UnitStatus",
    "Verdict",
]
