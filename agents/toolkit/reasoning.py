"""What a model thought aloud, and texts without it. A rater who sees it may tell by it who wrote."""

from __future__ import annotations

import re
from dataclasses import replace

from agents.contract import Cut, Stage, Step, StepKind, Trajectory

# <think>, <thinking>, <thought>, <reasoning>, <seed:think>, [THINK], ◁think▷: in any case but for the square ones.
_WORD = r"(?:seed:)?(?:think(?:ing)?|thought|reasoning)"
_OPENS = rf"(?:<{_WORD}>|(?-i:\[THINK\])|◁think▷)"
_CLOSES = rf"(?:</{_WORD}>|(?-i:\[/THINK\])|◁/think▷)"
_ANY = re.DOTALL | re.IGNORECASE
_PAIRED = re.compile(rf"{_OPENS}.*?{_CLOSES}", _ANY)
_BEFORE_CLOSING = re.compile(rf"^.*{_CLOSES}", _ANY)  # some servers swallow the opening mark
_UNCLOSED = re.compile(rf"{_OPENS}.*$", _ANY)


def without_reasoning(text: str) -> str:
    """``text`` without what the model thought aloud: paired marks, a lone closing one, an unclosed one."""
    for pattern in (_PAIRED, _BEFORE_CLOSING, _UNCLOSED):
        text = pattern.sub("", text)
    return text


def silenced(text: str) -> tuple[str, tuple[Step, ...]]:
    """``text`` as people and judges see it, and where something was taken out the step that says how much."""
    kept = without_reasoning(text)
    if kept == text:
        return text, ()
    taken = len(text) - len(kept)
    summary = f"Took {taken} characters of reasoning out of the text."
    return kept.strip(), (Step(Stage.ACT, StepKind.CODE, summary, cut=Cut(reasoning_chars=taken)),)


def without_reasoning_in_action(done: Trajectory) -> Trajectory:
    """``done`` with the text of its action silenced. Agents of ours have done so; anybody else's may not."""
    if done.action is None or not done.action.text:
        return done
    kept, steps = silenced(done.action.text)
    if not steps:
        return done
    return replace(done, action=replace(done.action, text=kept) if kept else None, steps=(*done.steps, *steps))
