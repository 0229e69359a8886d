from __future__ import annotations

from django import forms

from annotation.batches import Choice
from bench.models import Dataset, Domain, Run

CHOICES = [
    (Choice.AUDIT.value, "Random audit slice"),
    (Choice.ESCALATED.value, "Escalated: judges disagree, could not judge, or contradict themselves"),
    (Choice.DOMAIN.value, "All of one domain"),
]


class BatchForm(forms.Form):
    """Which trajectories of which run go to how many raters."""

    run = forms.ModelChoiceField(Run.objects.select_related("dataset"), empty_label=None)
    choice = forms.ChoiceField(choices=CHOICES, widget=forms.RadioSelect, initial=Choice.AUDIT.value)
    domain = forms.ModelChoiceField(
        Domain.objects.all(), to_field_name="slug", required=False, empty_label="every domain"
    )
    raters_wanted = forms.IntegerField(min_value=1, max_value=9, initial=2)
    size = forms.IntegerField(min_value=1, max_value=5000, initial=24)
    name = forms.CharField(max_length=80, required=False)

    def clean(self) -> dict[str, object]:
        cleaned = super().clean() or {}
        if cleaned.get("choice") == Choice.DOMAIN and not cleaned.get("domain"):
            self.add_error("domain", "Choose the domain that the batch is made of.")
        return cleaned


MODES = [
    ("cue", "Single events: can each be read?"),
    ("gold", "Request and gold events: can it be solved?"),
    ("full", "Request and the whole history before it"),
    ("none", "Request alone: does it give the answer away?"),
]


class ReadingForm(forms.Form):
    """What of which dataset goes to how many readers."""

    dataset = forms.ModelChoiceField(Dataset.objects.filter(complete=True), empty_label=None)
    modes = forms.MultipleChoiceField(choices=MODES, widget=forms.CheckboxSelectMultiple, required=False)
    method = forms.CharField(max_length=60, required=False)
    run = forms.ModelChoiceField(Run.objects.all(), required=False, empty_label="none")
    size = forms.IntegerField(min_value=1, max_value=1000, initial=40)
    readers_wanted = forms.IntegerField(min_value=1, max_value=9, initial=2)
    seed = forms.IntegerField(min_value=0, max_value=10**9, initial=1)

    def clean(self) -> dict[str, object]:
        cleaned = super().clean() or {}
        if not cleaned.get("modes") and not cleaned.get("method"):
            self.add_error("modes", "Choose what readers are shown.")
        if cleaned.get("method") and not cleaned.get("run"):
            self.add_error("run", "Choose the run in which the method searched.")
        return cleaned

    def all_modes(self) -> list[str]:
        """As bench.audit.quiz names them."""
        method = str(self.cleaned_data["method"]).strip()
        return [*self.cleaned_data["modes"], *([f"retrieved:{method}"] if method else [])]
