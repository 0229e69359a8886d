"""AI judges on one trajectory: ask, read, and write what it said, usable or not."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from django.db.models import Q

from agents.contract import JSON, BudgetExceeded, Cancelled, LLMError, Outage, Stage, UnusableReply
from agents.contract.serialise import from_json
from agents.model.client import OpenAILLM
from agents.model.structured import NoObject, extract_object
from bench.grading import judges
from bench.grading.judges import RUBRIC_VERSION, GoldEvidence, JudgedCheckpoint, JudgeResult
from bench.grading.store import append_verdicts
from bench.grading.types import VerdictValue
from bench.models import Checkpoint, Trajectory, Verdict
from bench.runs.calls import BooksUnavailable
from bench.runs.endpoints import KeyMissing, UnknownModel, resolve_endpoint

MakeLLM = Callable[[str], OpenAILLM]


def judge_trajectory(trajectory: Trajectory, panel: Sequence[str], make_llm: MakeLLM, *, again: bool = False) -> bool:
    """Append the judges' verdicts on every checkpoint that no rule decides: it has none, or its rule cannot judge.

    Asks a judge about those that it gave no usable verdict on, and about all of them with ``again``. A reply
    that cannot be used is kept as unscored, with its raw text and the reason. True where any was asked.
    Raises BudgetExceeded, Cancelled, BooksUnavailable and Outage only.
    """
    asked = _asked(trajectory)
    given = Verdict.objects.filter(trajectory=trajectory, source="judge", rubric_version=RUBRIC_VERSION)
    done = set() if again else set(given.exclude(value="").values_list("name", "checkpoint_id"))
    left = {judge: [one for one in asked if (judge, one.pk) not in done] for judge in panel}
    for judge, checkpoints in left.items():
        if checkpoints:
            _judge(trajectory, judge, checkpoints, make_llm)
    return any(left.values())


def _asked(trajectory: Trajectory) -> list[Checkpoint]:
    undecided = Verdict.objects.filter(
        trajectory=trajectory, source="rule", value="cannot_judge", rubric_version=RUBRIC_VERSION
    ).values("checkpoint")
    return list(
        Checkpoint.objects.filter(retired=False, task_id=trajectory.unit.task_id)
        .filter(Q(rule__isnull=True) | Q(pk__in=undecided))
        .prefetch_related("evidence")
    )


def _judge(trajectory: Trajectory, judge: str, checkpoints: Sequence[Checkpoint], make_llm: MakeLLM) -> None:
    ids = {f"k{n}": checkpoint for n, checkpoint in enumerate(checkpoints, 1)}
    messages = judges.messages(
        trajectory.unit.task.request,
        [JudgedCheckpoint(key, checkpoint.text, _gold(checkpoint)) for key, checkpoint in ids.items()],
        judges.render_action(from_json(trajectory.data).action),
    )
    verdicts: dict[str, tuple[str, str]] = {}
    unscored: dict[str, str] = {}
    raw, cost_usd = "", 0.0
    try:
        reply = make_llm(judge).complete(messages, stage=Stage.JUDGE, schema=judges.schema(list(ids)), max_tokens=1500)
        result = judges.parse(reply.parsed if reply.parsed is not None else reply.text, list(ids))
        verdicts = {key: (value.value, why) for key, (value, why) in result.verdicts.items()}
        unscored, raw, cost_usd = result.unscored, reply.raw or result.raw, reply.usage.cost_usd
    except (BudgetExceeded, Cancelled, BooksUnavailable, Outage):
        raise  # says nothing about the judge
    except LLMError as error:
        # One bad row costs that row only: what a reply says of the others counts, whatever became of its repair.
        problem, cost_usd = f"{type(error).__name__}: {error}", error.usage.cost_usd
        result, raw = _best(error.replies, list(ids))
        verdicts = {key: (value.value, why) for key, (value, why) in result.verdicts.items()}
        unscored = result.unscored if verdicts else dict.fromkeys(ids, problem)
    except (UnknownModel, KeyMissing) as error:
        unscored = {key: f"{type(error).__name__}: {error}" for key in ids}
    _append(trajectory, judge, ids, verdicts, unscored, raw, cost_usd)


def _best(replies: Sequence[UnusableReply], ids: Sequence[str]) -> tuple[JudgeResult, str]:
    """The reply that grades the most checkpoints, of several the last one; and the judge's own words in it.

    A repair may be worse than what it was to mend: prose, or one row of many.
    """
    read = [(judges.parse(_object_in(reply.text), ids), reply.raw) for reply in replies]
    return max(reversed(read), key=lambda one: len(one[0].verdicts), default=(judges.parse(None, ids), ""))


def _object_in(text: str) -> JSON | str:
    """The one object in a reply, whatever its rows; the text itself where there is not one."""
    try:
        return extract_object(text)
    except NoObject:
        return text


def _gold(checkpoint: Checkpoint) -> tuple[GoldEvidence, ...]:
    events = sorted(checkpoint.evidence.all(), key=lambda event: event.position)
    return tuple(GoldEvidence(event.occurred_at.date(), event.channel, event.text) for event in events)


def _append(
    trajectory: Trajectory,
    judge: str,
    ids: dict[str, Checkpoint],
    verdicts: dict[str, tuple[str, str]],
    unscored: dict[str, str],
    raw: str,
    cost_usd: float,
) -> None:
    manifest = trajectory.unit.run.manifest
    families = {one["slug"]: one for one in [*manifest["judges"], manifest["model"]]}
    known = families.get(judge) or _registered(judge)
    own = judges.is_own_family(known["family"], manifest["model"]["family"])
    rows = []
    for key, checkpoint in ids.items():
        value, rationale = verdicts.get(key, ("", unscored.get(key, "no verdict came back")))
        rows.append(
            Verdict(
                trajectory=trajectory,
                checkpoint=checkpoint,
                rubric_version=RUBRIC_VERSION,
                source="judge",
                name=judge,
                value=value,
                rationale=rationale,
                raw=raw,
                contradicts=bool(value) and judges.contradicts(VerdictValue(value), rationale),
                own_family=own,
                simulated=known["simulated"],
                cost_usd=cost_usd / len(ids),
            )
        )
    append_verdicts(rows)


def _registered(judge: str) -> dict[str, Any]:
    """Family and kind of a judge that the run's manifest does not name, since it was asked later."""
    try:
        endpoint = resolve_endpoint(judge)
    except (UnknownModel, KeyMissing):
        return {"family": "", "simulated": False}
    return {"family": endpoint.family, "simulated": endpoint.simulated}
