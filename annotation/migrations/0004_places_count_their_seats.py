from __future__ import annotations

import django.db.models.deletion
from django.db import migrations, models
from django.db.models import F, Q

COUNT = """
UPDATE annotation_assignment SET seated = committed_at IS NOT NULL OR lease_until > now();
UPDATE annotation_batch_trajectories AS place
SET taken = counted.taken, wanted = greatest(counted.wanted, counted.taken)
FROM (
    SELECT p.id, b.raters_wanted AS wanted, count(a.id) AS taken
    FROM annotation_batch_trajectories AS p
    JOIN annotation_batch AS b ON b.id = p.batch_id
    LEFT JOIN annotation_assignment AS a
        ON a.batch_id = p.batch_id AND a.trajectory_id = p.trajectory_id AND a.seated
    GROUP BY p.id, b.raters_wanted
) AS counted
WHERE place.id = counted.id;
"""


class Migration(migrations.Migration):
    # Rows are written and their table altered: PostgreSQL wants that in two transactions.
    atomic = False

    dependencies = [
        ("bench", "0022_dataset_versions_keep_their_checks"),
        ("annotation", "0003_set_aside"),
    ]

    operations = [
        # The table is there: it was made for the plain many-to-many field.
        migrations.SeparateDatabaseAndState(
            state_operations=[
                migrations.CreateModel(
                    name="Place",
                    fields=[
                        (
                            "id",
                            models.BigAutoField(
                                auto_created=True, primary_key=True, serialize=False, verbose_name="ID"
                            ),
                        ),
                        (
                            "batch",
                            models.ForeignKey(
                                on_delete=django.db.models.deletion.CASCADE,
                                related_name="places",
                                to="annotation.batch",
                            ),
                        ),
                        (
                            "trajectory",
                            models.ForeignKey(
                                on_delete=django.db.models.deletion.CASCADE,
                                related_name="places",
                                to="bench.trajectory",
                            ),
                        ),
                    ],
                    options={
                        "db_table": "annotation_batch_trajectories",
                        "unique_together": {("batch", "trajectory")},
                    },
                ),
                migrations.AlterField(
                    model_name="batch",
                    name="trajectories",
                    field=models.ManyToManyField(
                        related_name="batches", through="annotation.Place", to="bench.trajectory"
                    ),
                ),
            ],
        ),
        migrations.AddField("place", "taken", models.PositiveSmallIntegerField(default=0)),
        migrations.AddField("place", "wanted", models.PositiveSmallIntegerField(default=1), preserve_default=False),
        migrations.AddField("assignment", "seated", models.BooleanField(default=True)),
        migrations.RunSQL(COUNT, migrations.RunSQL.noop),
        migrations.AddConstraint(
            "place", models.CheckConstraint(condition=Q(taken__lte=F("wanted")), name="place_never_overfull")
        ),
        migrations.AddIndex(
            "place",
            models.Index(fields=["taken", "batch", "id"], condition=Q(taken__lt=F("wanted")), name="place_open"),
        ),
        migrations.AddConstraint(
            "assignment",
            models.CheckConstraint(
                condition=Q(committed_at__isnull=True) | Q(seated=True), name="assignment_submitted_is_seated"
            ),
        ),
        migrations.AddIndex(
            "assignment",
            models.Index(
                fields=["lease_until"], condition=Q(committed_at__isnull=True, seated=True), name="assignment_leased"
            ),
        ),
    ]
