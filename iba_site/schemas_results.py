"""What the API says of results: measures, cells, differences, checkpoints. The shapes are those of bench.results."""

from __future__ import annotations

from typing import Any

from ninja import Field, Schema

from iba_site.schemas import CallOut
from iba_site.schemas_runs import ValidityOut

SIMULATED = "true where agent or judges are the simulated reader: such runs are not compared"
GOLD_SEEN = "true where who brought the agent had been shown gold of the dataset before"
NULL_WITHOUT = "null where n is 0"


class MeasureOut(Schema):
    mean: float | None = Field(description=f"0 to 1; {NULL_WITHOUT}")
    low: float | None = Field(description=f"lower end of the 95% interval, clustered by persona; {NULL_WITHOUT}")
    high: float | None = Field(description=f"upper end of the same interval; {NULL_WITHOUT}")
    n: int = Field(description="values that count; what is unscored does not")


class CountedOut(MeasureOut):
    count: int | None = Field(description="how many of the n; null where none can tell")


class ExpectedOut(MeasureOut):
    reason: str = Field(description="why there is no mean or no interval; empty where there are")


class PartOut(Schema):
    planned: int = Field(description="trajectories that were planned")
    evaluated: int = Field(description="those with a score, the denominator of the measures")
    errors: int = Field(description="those that failed by a fault and not by what the agent did")
    unscored: int = Field(description="those whose verdicts do not decide them yet")
    headline: bool = Field(description="whether at least 95% of the planned ones are evaluated")
    behaviour_accuracy: MeasureOut = Field(description="share of task checkpoints passed")
    preference_satisfaction: MeasureOut = Field(description="share of preference checkpoints passed")
    task_success: MeasureOut = Field(description="share of tasks with all checkpoints passed")
    recall: MeasureOut = Field(description="share of the gold events that the method saw")
    settled: MeasureOut = Field(
        description="share of preference checkpoints that the events seen settle for an ideal reader"
    )
    over_applied: CountedOut = Field(description="constraints acted on that do not hold here and now")


class RepeatsOut(Schema):
    k: int = Field(description="trials of each task")
    mean_at_k: MeasureOut = Field(description="mean success over all trials")
    pass_at_k: MeasureOut = Field(description="at least one of k trials succeeds")
    pass_hat_k: MeasureOut = Field(description="all k trials succeed")
    tasks: int = Field(description="tasks that count")
    reason: str | None = Field(description="why there are no values; null where there are")


class TotalsOut(PartOut):
    repeats: RepeatsOut | None = Field(description="null where each task ran once")
    expected_if_independent: ExpectedOut = Field(
        description="task success if checkpoints of a kind passed independently of each other"
    )
    evidence_recall: float | None = Field(description="mean of recall, rounded")
    llm_calls: int = Field(description="model calls, those whose replies could not be used included")
    tokens_in: int = Field(description="prompt tokens")
    tokens_out: int = Field(description="generated tokens")
    cost_usd: float = Field(description="price of these calls in US dollars")
    wall_s: float = Field(description="seconds of all trajectories together")


class DomainPartOut(PartOut):
    by_action: dict[str, PartOut] = Field(description="generate and call_api")


class CellOut(TotalsOut):
    method: str = Field(description="name of the method")
    label: str = Field(description="its name for people")
    model: str = Field(description="the model that it used")
    ablation: str | None = Field(description="the part that was removed; null for the whole method")
    uses_gold: bool = Field(description="true for a method that is given the gold events; it is never ranked")
    simulated: bool = Field(description=SIMULATED)
    by_domain: dict[str, DomainPartOut] = Field(description="by the slug of the domain")
    by_action: dict[str, TotalsOut] = Field(description="generate and call_api")


class PairOut(Schema):
    a: str = Field(description="method")
    b: str = Field(description="the method that it is compared with")
    metric: str = Field(description="the measure that is compared")
    difference: float | None = Field(description="mean of a minus b over the units that both have scored")
    low: float | None = Field(description="lower end of its 95% interval")
    high: float | None = Field(description="upper end of its 95% interval")
    n: int = Field(description="units that both have scored")
    common: int = Field(description="units that both have")
    p: float | None = Field(description="p value; null in a simulated run")
    p_holm: float | None = Field(None, description="p corrected for the number of comparisons (Holm)")
    distinguishable: bool | None = Field(description="null in a simulated run")
    words: str = Field(description="the same in a sentence")
    domain: str = Field("", description="where the pair is of one domain")
    action: str = Field("", description="where the pair is of one kind of action")


class SuccessOut(Schema):
    task_success: MeasureOut = Field(description="share of tasks with all checkpoints passed")
    evaluated: int = Field(description="trajectories with a score")
    planned: int = Field(description="trajectories that were planned")


class ViewSuccessOut(SuccessOut):
    by_action: dict[str, SuccessOut] = Field(description="generate and call_api")


class HumanEstimateOut(Schema):
    estimate: float | None = Field(description="task success as humans would grade it; null where reason says why")
    low: float | None = Field(description="lower end of its 95% interval")
    high: float | None = Field(description="upper end of its 95% interval")
    n_human: int = Field(description="trajectories of the random audit slice that humans have decided")
    slice: int = Field(description="trajectories of the slice")
    n_ai: int = Field(description="trajectories that the AI has graded")
    reason: str = Field(description="why there is no estimate; empty where there is")


class DomainEstimateOut(HumanEstimateOut):
    by_action: dict[str, HumanEstimateOut] = Field(description="generate and call_api")


class MethodEstimateOut(DomainEstimateOut):
    by_domain: dict[str, DomainEstimateOut] = Field(description="by the slug of the domain")


class LossOut(Schema):
    method: str = Field(description="name of the method")
    domain: str = Field(description="slug of the domain")
    action: str = Field(description="generate or call_api")
    conflict: str = Field(description="what stands against the preference in the history; empty for nothing")
    tier: str = Field(description="direct, combined or contested; empty where it is not known")
    gap: str = Field(description="stage that lost it; empty where it was not lost")
    combined: str = Field(description="pass or fail; empty where unscored")
    count: int = Field(description="preference checkpoints")


class StageShareOut(MeasureOut):
    stage: str = Field(description="stage that lost them")
    count: int = Field(description="preference checkpoints lost there, of n that were lost")


class JudgeCoverageOut(Schema):
    judge: str = Field(description="endpoint")
    asked: int = Field(description="checkpoints of trajectories that it was asked about")
    answered: int = Field(description="those with a usable verdict")
    share: float = Field(description="answered of asked")


class ResultsOut(Schema):
    run_id: int = Field(description="id of the run")
    simulated: bool = Field(description=SIMULATED)
    gold_seen: bool = Field(description=GOLD_SEEN)
    even_if_invalid: bool = Field(description="started although the dataset's version fails its checks")
    dataset_validity: ValidityOut = Field(description="what the checks of the dataset's version found")
    manifest_sha256: str = Field(description="hash of all that decides the results")
    format: int = Field(description="version of this shape")
    view: str = Field(description="whose verdicts: combined, ai or human")
    split: str = Field(description="dev or test; empty for both")
    action: str = Field(description="generate or call_api; empty for both")
    human_calibrated: dict[str, MethodEstimateOut] = Field(description="by method; those that somebody has graded")
    views: dict[str, dict[str, ViewSuccessOut]] = Field(description="task success by view and method")
    cells: list[CellOut] = Field(description="one a method")
    paired: list[PairOut] = Field(description="every two methods and measure")
    paired_by_action: list[PairOut] = Field(description="the same by kind of action, where tasks are of two kinds")
    paired_by_domain: list[PairOut] = Field(description="the same by domain, for task success")
    paired_by_domain_and_action: list[PairOut] = Field(
        description="and by kind of action, in the domains that have tasks of both"
    )
    losses: list[LossOut] = Field(description="counts of all preference checkpoints")
    lost_at: dict[str, dict[str, list[StageShareOut]]] = Field(
        description="where preferences were lost, by domain (empty for all) and method"
    )
    lost_at_by_action: dict[str, dict[str, dict[str, list[StageShareOut]]]] = Field(
        description="the same of generate and of call_api"
    )
    judges: list[JudgeCoverageOut] = Field(description="how much of what it was asked each judge answered")


class VerdictOut(Schema):
    source: str = Field(description="rule, judge, human or adjudication")
    name: str = Field(description="rules, the judge's endpoint, or the rater")
    value: str | None = Field(description="pass, fail, cannot_judge; null: asked, and no usable verdict came")
    reason: str = Field(description="why, in the words of who gave it")


class GradedOut(Schema):
    kind: str = Field(description="task or preference")
    value: str | None = Field(description="pass or fail; null: unscored, which is not a fail")
    origin: str = Field(description="whose verdicts decided it")
    dimension: str | None = Field(None, description="of a preference: what it is about")
    wanted: str | None = Field(None, description="of a preference: the choice that holds here and now")
    conflict: str | None = Field(None, description="of a preference: what stands against it in the history")
    tier: str | None = Field(None, description="of a preference: direct, combined or contested (docs/validity.md)")
    answer: str | None = Field(None, description="amount, number, time or weekday, where the wanted choice is typed")
    tolerance: float | None = Field(None, description="how far such an answer may lie off; minutes of a time")
    gold_event_ids: list[str] = Field(description="events that show it")
    seen_event_ids: list[str] = Field(description="those of them that the agent was given: tells finding from reading")
    over_applied: bool | None = Field(description="a choice that holds elsewhere was acted on; null: cannot be told")
    verdicts: list[VerdictOut] = Field(description="the latest of each source and name")


class CheckpointOut(GradedOut):
    trajectory: int = Field(description="id of the trajectory")
    task: str = Field(description="slug of the task")
    action_kind: str = Field(description="generate or call_api")
    position: int = Field(description="its place among the checkpoints of the task")
    text: str = Field(description="what has to be so")
    lost_at: str | None = Field(description="stage that lost a failed preference, as far as it can be told")


class ScoreOut(GradedOut):
    checkpoint: str = Field(description="what has to be so")
    gap: str | None = Field(description="stage that lost a failed preference, as far as it can be told")


class TrajectoryOut(Schema):
    id: int = Field(description="id of the trajectory")
    run: int = Field(description="id of its run")
    simulated: bool = Field(description=SIMULATED)
    task: str = Field(description="slug of the task")
    method: str = Field(description="name of the method")
    request: str = Field(description="what the person asked for")
    trajectory: dict[str, Any] | None = Field(description="the course, as agents/contract describes it; null: withheld")
    committed: list[CallOut] | None = Field(description="committing calls that were accepted; null: withheld")
    gold_withheld: str = Field(description="why scores is null; empty where it is not")
    scores: list[ScoreOut] | None = Field(description="every checkpoint, for a token of scope gold")


class SharesOut(Schema):
    tasks: int = Field(description="trajectories")
    task_scored: int = Field(description="task checkpoints with a score")
    task_passed: int = Field(description="those of them that passed")
    preference_scored: int = Field(description="preference checkpoints with a score")
    preference_passed: int = Field(description="those of them that passed")


class OwnResultsOut(Schema):
    run: int = Field(description="id of the run")
    status: str = Field(description="done or cancelled")
    simulated: bool = Field(description=SIMULATED)
    gold_seen: bool = Field(description=GOLD_SEEN)
    manifest_sha256: str = Field(description="hash of all that decides the results")
    cells: list[CellOut] = Field(description="as in GET /api/runs/{run_id}/results")
    by_action_kind: dict[str, SharesOut] = Field(description="generate and call_api; counts of checkpoints")
    over_applied: int | None = Field(description="checkpoints at which a choice was acted on that holds elsewhere")
    gold_withheld: str = Field(description="why checkpoints is null; empty where it is not")
    checkpoints: list[CheckpointOut] | None = Field(description="every checkpoint, for a token of scope gold")
