"""Checkpoints say how much of a history settles them; in what was generated before, one event can settle each."""

from django.db import migrations, models


def mark_direct(apps, schema_editor):
    apps.get_model("bench", "Checkpoint").objects.filter(
        kind="preference", task__persona__dataset__source="generated"
    ).update(tier="direct")


class Migration(migrations.Migration):
    dependencies = [
        ("bench", "0016_vectors_of_pieces"),
    ]

    operations = [
        migrations.AddField(
            model_name="checkpoint",
            name="tier",
            field=models.CharField(
                blank=True, default="", help_text="of a preference: how much settles it", max_length=10
            ),
        ),
        migrations.AlterField(
            model_name="eventlabel",
            name="role",
            field=models.CharField(
                choices=[
                    ("cue", "cue"),
                    ("condition", "conditional cue"),
                    ("drift", "reason for a change"),
                    ("against", "rules a value out"),
                    ("record", "an earlier choice between two preferences"),
                    ("state_start", "start of a state"),
                    ("state_course", "course of a state"),
                    ("state_end", "end of a state"),
                    ("distractor", "distractor"),
                    ("everyday", "everyday"),
                ],
                max_length=12,
            ),
        ),
        migrations.RunPython(mark_direct, migrations.RunPython.noop),
    ]
