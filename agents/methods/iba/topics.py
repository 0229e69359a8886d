"""Which topics a task asks for, as far as code can tell."""

from __future__ import annotations

from agents.contract import TaskInput, Topic
from agents.methods.iba.model import EvidenceNet


def asked_by_tools(task: TaskInput) -> tuple[str, ...]:
    """Slugs of the topics whose options a parameter offers; the task's own domain where several fit as well."""
    found = []
    schemas = [schema for tool in task.tools for schema in tool.parameters.get("properties", {}).values()]
    for schema in schemas:
        offered = {str(value) for value in schema.get("enum", ()) if value is not None}
        shared = {topic.slug: len(offered & {option.slug for option in topic.options}) for topic in task.vocabulary}
        fitting = [slug for slug, count in shared.items() if count >= 2 and count == max(shared.values())]
        own = [slug for slug in fitting if slug.startswith(f"{task.domain}.")]
        found.extend((own or fitting)[:1])
    return tuple(dict.fromkeys(found))


def topics_of(task: TaskInput, net: EvidenceNet) -> tuple[Topic, ...]:
    """The predicted topics; where none was predicted those of the task's domain and those that its tools ask for."""
    asked = set(asked_by_tools(task))
    wanted = set(net.topics) or {
        topic.slug for topic in task.vocabulary if topic.slug.startswith(f"{task.domain}.") or topic.slug in asked
    }
    return tuple(topic for topic in task.vocabulary if topic.slug in wanted)
