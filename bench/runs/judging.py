"""One AI judge on one trajectory: ask, read, and write what it said, usable or not."""

from __future__ import annotations

from collections.abc import Callable

from agents.contract import BudgetExceeded, Cancelled, LLMError
from agents.llm import OpenAILLM
from agents.serialise import from_json
from bench.models import Checkpoint, Trajectory, Verdict
from bench.runs.calls import BooksUnavailable
from bench.runs.endpoints import KeyMissing, UnknownModel, resolve_endpoint
from bench.scoring import judges
from bench.scoring.judges import RUBRIC_VERSION, GoldEvidence, JudgedCheckpoint
from bench.scoring.store import append_verdicts
from bench.scoring.types import VerdictValue

MakeLLM = Callable[[str], OpenAILLM]


def judge_trajectory(trajectory: Trajectory, judge: str, make_llm: MakeLLM, *, again: bool = False) -> None:
    """Append this judge's verdicts on every checkpoint that no rule decides.

    Does nothing where the judge has answered before, unless ``again``. A reply
    that cannot be used is kept as unscored, with its raw text and the reason.
    Raises BudgetExceeded, Cancelled and BooksUnavailable only.
    """
    asked = list(
        Checkpoint.objects.filter(task_id=trajectory.unit.task_id, rule__isnull=True).prefetch_related("evidence")
    )
    done = Verdict.objects.filter(
        trajectory=trajectory, source="judge", name=judge, rubric_version=RUBRIC_VERSION
    ).exclude(value="")
    if not asked or (done.exists() and not again):
        return
    ids = {f"k{n}": checkpoint for n, checkpoint in enumerate(asked, 1)}
    verdicts: dict[str, tuple[str, str]] = {}
    unscored: dict[str, str] = {}
    raw, cost_usd = "", 0.0
    try:
        result, cost_usd = _ask(trajectory, ids, make_llm(judge))
        verdicts = {key: (value.value, why) for key, (value, why) in result.verdicts.items()}
        unscored, raw = result.unscored, result.raw
    except (BudgetExceeded, Cancelled, BooksUnavailable):
        raise  # says nothing about the judge
    except (LLMError, UnknownModel, KeyMissing) as error:
        raw = getattr(error, "raw", "")
        unscored = {key: f"{type(error).__name__}: {error}" for key in ids}
    _append(trajectory, judge, ids, verdicts, unscored, raw, cost_usd)


def _ask(trajectory: Trajectory, ids: dict[str, Checkpoint], llm: OpenAILLM) -> tuple[judges.JudgeResult, float]:
    course = from_json(trajectory.data)
    messages = judges.messages(
        trajectory.unit.task.request,
        [JudgedCheckpoint(key, checkpoint.text, _gold(checkpoint)) for key, checkpoint in ids.items()],
        judges.render_action(course.action),
    )
    reply = llm.complete(messages, stage="judge", schema=judges.schema(list(ids)), max_tokens=1500)
    parsed = reply.parsed if reply.parsed is not None else reply.text
    return judges.parse(parsed, list(ids)), reply.usage.cost_usd


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
    known = families.get(judge) or {"family": "", "simulated": _is_simulated(judge)}
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


def _is_simulated(judge: str) -> bool:
    try:
        return resolve_endpoint(judge).simulated
    except (UnknownModel, KeyMissing):
        return False
