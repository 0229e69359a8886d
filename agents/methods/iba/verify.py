"""Stage 4, second half: check the whole course, repair it at most so often, keep the better draft."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from agents.contract import JSON, LLM, ActionKind, Constraint, Limits, Link, Part, Stage, Step, StepKind, TaskInput
from agents.methods.iba.stages import Checked
from agents.toolkit import arguments as args
from agents.toolkit.acting import Brief, Draft, called, describe, draft
from agents.toolkit.rendering import chat, constraint_lines, item_lines, quoted, task_lines, tool_lines
from agents.toolkit.sentences import sentences


@dataclass(frozen=True, slots=True)
class Verified:
    """A draft with what code and the model found about it."""

    draft: Draft
    problems: tuple[str, ...]
    checks: tuple[Checked, ...]

    @property
    def unmet(self) -> tuple[str, ...]:
        return tuple(check.constraint_id for check in self.checks if check.met is False)

    @property
    def faults(self) -> tuple[int, int]:
        """Smaller is better: problems that code found count before constraints that are not met."""
        return len(self.problems), len(self.unmet)


def verify(task: TaskInput, done: Draft, brief: Brief, *, llm: LLM) -> Verified:
    """Code first, then one model call with one binary check for each active constraint."""
    found = code_problems(task, done)
    if not brief.constraints:
        return Verified(done, found, ())
    tools = called(task, done) if task.action_kind is ActionKind.CALL_API else ()
    chosen = [item for item in done.items if str(item.get("id")) in {str(v) for v in (done.arguments or {}).values()}]
    reply = llm.complete(
        chat(
            "iba/verify",
            task=task_lines(task),
            tools=tool_lines(tools),
            items=item_lines(chosen),
            draft=quoted(describe(task, done)),
            checks=constraint_lines(brief.constraints),
        ),
        stage=Stage.VERIFY,
        schema=_schema(),
    )
    return Verified(done, found, _checks((reply.parsed or {}).get("checks", []), brief.constraints))


def code_problems(task: TaskInput, done: Draft) -> tuple[str, ...]:
    """What is wrong without asking anybody: an empty text, or arguments against schema and look-ups."""
    if done.arguments is None:
        return () if done.text else ("the text is empty",)
    return args.problems(done.arguments, args.as_one(called(task, done)), done.items)


def repair(
    task: TaskInput, first: Draft, brief: Brief, *, llm: LLM, limits: Limits
) -> tuple[Verified, tuple[Step, ...]]:
    """At most ``limits.repairs`` new drafts; the one with the fewest faults is kept, the earlier one where equal."""
    best = verify(task, first, brief, llm=llm)
    steps = [_step("Checked the first draft", best)]
    for number in range(1, limits.repairs + 1):
        if best.faults == (0, 0):
            break
        redone = draft(
            task, brief, llm=llm, items=best.draft.items, before=best.draft, failed=failures(best, brief.constraints)
        )
        if redone == best.draft:
            steps.append(Step(Stage.VERIFY, StepKind.NOTE, "The repair changed nothing, so no further one was tried."))
            break
        checked = verify(task, redone, brief, llm=llm)
        better = checked.faults < best.faults
        steps.append(_step(f"Repair {number}: {'kept' if better else 'not better, dropped'}", checked))
        best = checked if better else best
    return best, tuple(steps)


def failures(verified: Verified, constraints: Sequence[Constraint]) -> list[str]:
    texts = {item.constraint_id: item.text for item in constraints}
    return [*verified.problems, *(f"[{item}] {texts[item]}" for item in verified.unmet)]


def links(verified: Verified, constraints: Sequence[Constraint]) -> tuple[Link, ...]:
    """Why each argument or sentence is as it is, as far as a check that was met named the place."""
    by_id = {item.constraint_id: item for item in constraints}
    found = ((_part(check.where, verified.draft), check.constraint_id) for check in verified.checks if check.met)
    return tuple(Link(part, name, by_id[name].evidence) for part, name in found if part is not None)


def _part(where: str, done: Draft) -> Part | None:
    if done.arguments is not None:
        return Part.argument(where) if where in done.arguments else None
    known = where.isdigit() and 1 <= int(where) <= len(sentences(done.text))
    return Part.sentence(int(where)) if known else None


def _checks(rows: Sequence[JSON], constraints: Sequence[Constraint]) -> tuple[Checked, ...]:
    """One check a constraint; a row for an unknown one is ignored, a missing one counts as not decided."""
    by_id = {str(row.get("id")): row for row in rows}
    meanings = {"yes": True, "no": False}
    return tuple(
        Checked(
            item.constraint_id,
            meanings.get(str(by_id.get(item.constraint_id, {}).get("met"))),
            str(by_id.get(item.constraint_id, {}).get("where", "")),
        )
        for item in constraints
    )


def _schema() -> JSON:
    row: JSON = {
        "type": "object",
        "properties": {
            "id": {"type": "string"},
            "met": {"type": "string", "enum": ["yes", "no", "not_applicable"]},
            "where": {"type": "string"},
        },
        "required": ["id", "met", "where"],
        "additionalProperties": False,
    }
    return {
        "type": "object",
        "properties": {"checks": {"type": "array", "items": row}},
        "required": ["checks"],
        "additionalProperties": False,
    }


def _step(summary: str, verified: Verified) -> Step:
    checks = [{"constraint": item.constraint_id, "met": item.met, "where": item.where} for item in verified.checks]
    return Step(Stage.VERIFY, StepKind.CODE, f"{summary}.", {"problems": list(verified.problems), "checks": checks})
