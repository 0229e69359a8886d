"""Whoever changes a score counts it in a part of the count that is theirs, and waits for nobody else's commit.

What a run keeps is no longer dropped: it carries the count that it was computed at.
"""

import django.db.models.deletion
from django.db import migrations, models

OWN_COUNT = """
ALTER TABLE bench_scorechanges ADD FOREIGN KEY (run_id) REFERENCES bench_run (id) ON DELETE CASCADE;

CREATE OR REPLACE FUNCTION bench_forget_results() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    INSERT INTO bench_scorechanges (run_id, part, n)
    SELECT DISTINCT unit.run_id, pg_backend_pid() % 256, 1 FROM changed
    JOIN bench_trajectory trajectory ON trajectory.id = changed.trajectory_id
    JOIN bench_unit unit ON unit.id = trajectory.unit_id
    ON CONFLICT (run_id, part) DO UPDATE SET n = bench_scorechanges.n + 1;
    RETURN NULL;
END $$;

CREATE OR REPLACE FUNCTION bench_forget_results_of_unit() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    INSERT INTO bench_scorechanges (run_id, part, n) VALUES (NEW.run_id, pg_backend_pid() % 256, 1)
    ON CONFLICT (run_id, part) DO UPDATE SET n = bench_scorechanges.n + 1;
    RETURN NULL;
END $$;

INSERT INTO bench_scorechanges (run_id, part, n)
SELECT id, 0, scores_version FROM bench_run WHERE scores_version > 0;
UPDATE bench_run SET results_version = scores_version WHERE results IS NOT NULL;
UPDATE bench_run SET agreement_version = scores_version WHERE agreement IS NOT NULL;
"""
AS_BEFORE = """
CREATE OR REPLACE FUNCTION bench_forget_results() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    UPDATE bench_run SET scores_version = scores_version + 1, results = NULL, agreement = NULL WHERE id IN (
        SELECT unit.run_id FROM changed
        JOIN bench_trajectory trajectory ON trajectory.id = changed.trajectory_id
        JOIN bench_unit unit ON unit.id = trajectory.unit_id
    );
    RETURN NULL;
END $$;

CREATE OR REPLACE FUNCTION bench_forget_results_of_unit() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    UPDATE bench_run SET scores_version = scores_version + 1, results = NULL, agreement = NULL WHERE id = NEW.run_id;
    RETURN NULL;
END $$;

UPDATE bench_run SET results = NULL, agreement = NULL,
    scores_version = (SELECT coalesce(sum(n), 0) FROM bench_scorechanges WHERE run_id = bench_run.id);
"""


class Migration(migrations.Migration):
    atomic = False  # rows are written and their table altered: PostgreSQL wants that in two transactions

    dependencies = [("bench", "0024_errata_retire_checkpoints")]

    operations = [
        migrations.CreateModel(
            name="ScoreChanges",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                ("part", models.PositiveSmallIntegerField()),
                ("n", models.PositiveBigIntegerField()),
                (
                    "run",
                    models.ForeignKey(
                        db_constraint=False,
                        db_index=False,
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="score_changes",
                        to="bench.run",
                    ),
                ),
            ],
            options={
                "constraints": [models.UniqueConstraint(fields=("run", "part"), name="score_changes_once_a_part")]
            },
        ),
        migrations.AddField("run", "results_version", models.PositiveBigIntegerField(blank=True, null=True)),
        migrations.AddField("run", "agreement_version", models.PositiveBigIntegerField(blank=True, null=True)),
        migrations.RunSQL(OWN_COUNT, AS_BEFORE),
        migrations.RemoveField("run", "scores_version"),
    ]
