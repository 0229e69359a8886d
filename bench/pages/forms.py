"""The forms of these pages. The launch form reads what was sent; what is allowed is settled by bench.runs.launch."""

from __future__ import annotations

from typing import Any

from django import forms

from agents.registry import AGENTS, resolve
from bench.models import Dataset, Domain, Endpoint, Split
from bench.pages import numbers
from bench.reader.faults import OFFLINE, PANEL
from bench.runs.spec import OPTIONS, Kind, Option, RunSpec
from bench.tokens import SCOPE_WORDS

DEFAULT_METHODS = ("iba", "rag", "recency", "no_history")


class LaunchForm(forms.Form):
    dataset = forms.ChoiceField()
    methods = forms.MultipleChoiceField(
        widget=forms.CheckboxSelectMultiple, error_messages={"required": "Choose at least one method."}
    )
    model = forms.ChoiceField()
    judges = forms.MultipleChoiceField(required=False, widget=forms.CheckboxSelectMultiple)
    domains = forms.MultipleChoiceField(required=False, widget=forms.CheckboxSelectMultiple)
    split = forms.ChoiceField(required=False, choices=[("", "both"), *Split.choices])

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        for name, option in OPTIONS.items():
            if name not in self.fields:
                self.fields[name] = _field(option)
        datasets = list(dict.fromkeys(Dataset.objects.filter(complete=True).values_list("name", flat=True)))
        endpoints = list(Endpoint.objects.values_list("slug", "model"))
        self._choose("dataset", [(name, name) for name in datasets], first=True)
        self._choose("methods", _methods())
        self._choose(
            "model", [(OFFLINE, "offline, a simulated reader"), *((s, f"{s} · {m}") for s, m in endpoints)], first=True
        )
        self._choose("judges", [*((name, name) for name in PANEL), *((s, s) for s, _ in endpoints)])
        self._choose("domains", list(Domain.objects.values_list("slug", "name")))
        self.fields["methods"].initial = list(DEFAULT_METHODS)

    def _choose(self, name: str, choices: list[tuple[str, str]], *, first: bool = False) -> None:
        field = self.fields[name]
        assert isinstance(field, forms.ChoiceField)  # noqa: S101 (for the type checker)
        field.choices = choices
        if first and choices:
            field.initial = choices[0][0]

    def wish(self) -> RunSpec:
        """Only after is_valid()."""
        return RunSpec(**self.cleaned_data)

    def data_for_get(self) -> dict[str, Any]:
        """Initial values as a sent form, so that the count can be shown before anything is chosen."""
        return {name: field.initial for name, field in self.fields.items() if field.initial is not None}


def _field(option: Option) -> forms.Field:
    """A number, a sum or a switch of ``RunSpec``; what is chosen from a list has a field of its own above."""
    if option.kind is Kind.SWITCH:
        return forms.BooleanField(required=False)
    optional = option.default is None
    if option.kind is Kind.SUM:
        return forms.FloatField(required=not optional, min_value=0.01)
    return forms.IntegerField(
        required=not optional, min_value=option.low, max_value=option.high, initial=option.default
    )


class BudgetForm(forms.Form):
    """A run's budget; empty lifts it."""

    budget_usd = forms.FloatField(required=False, widget=forms.NumberInput(attrs={"step": "any"}))


def _methods() -> list[tuple[str, str]]:
    """Every method, each ablation after its own method."""
    names = [part for spec in AGENTS.values() for part in (spec.name, *(f"{spec.name}-{a}" for a in spec.ablations))]
    return [
        (name, numbers.method_label(name) + (" · never ranked" if resolve(name).uses_gold else "")) for name in names
    ]


class TokenForm(forms.Form):
    """A new API token of one's own."""

    name = forms.CharField(max_length=60, error_messages={"required": "Give it a name, so that you know it later."})
    scopes = forms.MultipleChoiceField(
        choices=list(SCOPE_WORDS.items()),
        widget=forms.CheckboxSelectMultiple,
        error_messages={"required": "Choose what it may be used for."},
    )
