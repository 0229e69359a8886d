from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import Any

from django.core.management.base import CommandParser

from agents.contract import Engine, Evidence
from bench.importers.histories import locomo_histories, write_histories
from bench.importers.locomo import Dialogue, by_session, read_locomo
from bench.management.base import JsonCommand
from bench.models import Dataset, Event, Persona, Split
from bench.search import HistorySearch
from bench.search.evaluate import Probe, evaluate
from bench.search.gold import dataset_probes
from bench.search.vectors import embed_texts, index_events
from bench.services import services


class Command(JsonCommand):
    help = "Measure how much known evidence each engine finds: LoCoMo questions, or the gold events of a dataset."

    def arguments(self, parser: CommandParser) -> None:
        parser.add_argument("--source", required=True, choices=["locomo", "dataset"])
        parser.add_argument("--path", help="locomo10.json, for --source locomo")
        parser.add_argument("--dataset", help="name, for --source dataset")
        parser.add_argument("--dialogues", help="which of LoCoMo's dialogues, such as 1-5; all where it is left out")
        parser.add_argument("--whole-sessions", action="store_true", help="each of LoCoMo's sessions as one long text")
        parser.add_argument("--split", choices=[*Split], help="personas of this split only, for --source dataset")
        parser.add_argument("--engines", default="bm25,dense,hybrid,deep")
        parser.add_argument("--limit", type=int, help="questions, at most")

    def run(self, **options: Any) -> dict[str, Any]:
        engines = [_engine(name) for name in options["engines"].split(",") if name]
        services().ensure("embeddings")
        if options["source"] == "locomo":
            if not options["path"]:
                raise ValueError("--path is missing: name the LoCoMo file")
            dialogues = _chosen(read_locomo(Path(options["path"])), options["dialogues"])
            if options["whole_sessions"]:
                dialogues = tuple(map(by_session, dialogues))
            probes, skipped = _locomo_probes(dialogues, self.say)
        else:
            dataset = Dataset.objects.newest(options["dataset"] or "")
            if dataset is None:
                raise ValueError(f"unknown dataset {options['dataset']!r}")
            probes, skipped = dataset_probes(dataset, options["split"] or ""), []
        probes = probes[: options["limit"]]
        if not probes:
            reasons = "; ".join(f"{entry['row']}: {entry['reason']}" for entry in skipped[:5])
            raise ValueError(f"there is no usable question to measure with. {reasons}")
        embed_texts([probe.text for probe in probes], kind="query")
        measured = evaluate(probes, engines, self.say)
        for engine, row in measured.items():
            self.say(
                f"{engine:7} recall@10 {row['recall']['10']:.4f}  mrr {row['mrr']:.4f}  p95 {row['ms_p95']:.1f} ms"
            )
        return {
            "source": options["source"],
            "questions": len(probes),
            "units": sum(len(probe.gold) for probe in probes),
            "skipped": skipped,
            "engines": measured,
        }


def _engine(name: str) -> Engine:
    try:
        return Engine(name.strip())
    except ValueError as error:
        raise ValueError(f"unknown engine {name!r}; allowed: {', '.join(Engine)}") from error


def _chosen(dialogues: tuple[Dialogue, ...], asked: str | None) -> tuple[Dialogue, ...]:
    """The dialogues numbered "3" or "1-5", counted from 1."""
    if asked is None:
        return dialogues
    first, _, last = asked.partition("-")
    if not (first.isdecimal() and (last or first).isdecimal()) or not 1 <= int(first) <= int(last or first):
        raise ValueError(f"--dialogues {asked!r}: use one number or a range such as 1-5")
    if int(last or first) > len(dialogues):
        raise ValueError(f"--dialogues {asked!r}: the file holds {len(dialogues)} dialogues")
    return dialogues[int(first) - 1 : int(last or first)]


def _locomo_probes(dialogues: tuple[Dialogue, ...], say: Any) -> tuple[list[Probe], list[dict[str, str]]]:
    dataset = write_histories("locomo", "locomo", locomo_histories(dialogues))
    personas = {p.name: p for p in Persona.objects.filter(dataset=dataset)}
    index_events(
        [p.pk for p in personas.values()], progress=lambda done, total: say(f"embedded {done} of {total} turns")
    )
    probes, skipped = [], []
    for dialogue in dialogues:
        persona = personas[dialogue.sample]
        ids = _event_ids(persona, dialogue)
        find = partial(_find, persona.pk)
        probes += [Probe(q.text, frozenset(ids[t] for t in q.evidence), find) for q in dialogue.questions]
        skipped += [{"row": entry.row, "reason": entry.reason} for entry in dialogue.skipped]
    return probes, skipped


def _event_ids(persona: Persona, dialogue: Dialogue) -> dict[str, str]:
    """Turn id -> event id: events are the turns in order of time."""
    turns = sorted(dialogue.turns, key=lambda turn: turn.occurred_at)
    events = Event.objects.filter(persona=persona).order_by("position").values_list("pk", flat=True)
    return {turn.turn_id: str(pk) for turn, pk in zip(turns, events, strict=True)}


def _find(persona_id: int, text: str, k: int, engine: Engine) -> tuple[Evidence, ...]:
    return HistorySearch(persona_id, None)(text, k=k, engine=engine)
