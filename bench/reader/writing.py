"""The stand-in's texts: thoughts, profiles, drafts. Built from a closed set of sentences and from quotes."""

from __future__ import annotations

from datetime import timedelta

import numpy as np

from agents.toolkit.dates import find_days
from bench.reader.noticing import constraints, nearest_lines
from bench.reader.reading import Prompt
from bench.reader.scoring import Embed, cosines

QUOTES = 6
HEEDED = 3  # constraints that a draft still meets where they do not stand last, as models lose what stands further up
PROFILE_LINES = 10


def write(prompt: Prompt, embed: Embed) -> str:
    """What a free-form prompt asks for, told by its sections."""
    if any(topic.options for topic in prompt.topics):
        return thoughts(prompt, embed)
    if prompt.topics and prompt.evidence:
        return "\n".join(line.text for line in nearest_lines(prompt, embed, PROFILE_LINES)) or "Nothing is known."
    return draft(prompt, embed)


def thoughts(prompt: Prompt, embed: Embed) -> str:
    rows = constraints(prompt, embed)
    lines = [f"{', '.join(row['evidence'])}: {row['text']}" for row in rows if "dimension" in row]
    return "\n".join(lines) or "The evidence shows nothing of this."


def draft(prompt: Prompt, embed: Embed) -> str:
    """An opening, the days covered, one line for each constraint, or quotes of the nearest evidence."""
    lines = [f"Done as asked: {prompt.request}"]
    days = find_days(prompt.request, prompt.now)
    if days:
        first, last = days[0], days[0] + timedelta(days=6)
        lines.append(
            f"It covers every day from {first:%A} {first.isoformat()} on for one week, to {last:%A} {last.isoformat()}."
        )
    lines.extend(_heeded(prompt, embed))
    lines.extend(f"If it suits: {text}" for _, text in prompt.unresolved)
    if not prompt.constraints:
        lines.extend(prompt.profile[:QUOTES] or [line.text for line in nearest_lines(prompt, embed, QUOTES)])
    stated = {text.split("] ", 1)[-1] for text in prompt.failed}
    lines.extend(sorted(text for text in stated if text not in lines and not text.startswith("the text")))
    return "\n".join(lines)


def _heeded(prompt: Prompt, embed: Embed) -> list[str]:
    """All constraints where they stand last; else those nearest to the request, in the prompt's order."""
    texts = [text for _, text in prompt.constraints]
    if prompt.last == "Constraints" or len(texts) <= HEEDED:
        return texts
    near = cosines([prompt.request], texts, embed, ("query", "query"))[0]
    return [texts[number] for number in sorted(np.argsort(-near, kind="stable")[:HEEDED].tolist())]
