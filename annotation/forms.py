from __future__ import annotations

from django import forms

from annotation.batches import Choice
from bench.models import Domain, Run

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
