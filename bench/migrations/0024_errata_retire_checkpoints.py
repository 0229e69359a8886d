"""Checkpoints can be retired. A score of a retired one is never stored, however early it was computed."""

import django.db.models.deletion
from django.db import migrations, models


# Whoever retires locks the checkpoint FOR UPDATE, so either the score is there to be dropped, or this sees the change.
FORWARD = """
CREATE FUNCTION bench_no_score_of_retired() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    PERFORM 1 FROM bench_checkpoint WHERE id IN (SELECT checkpoint_id FROM added) ORDER BY id FOR KEY SHARE;
    DELETE FROM bench_checkpointscore score USING added, bench_checkpoint checkpoint
        WHERE score.id = added.id AND checkpoint.id = added.checkpoint_id AND checkpoint.retired;
    RETURN NULL;
END $$;
CREATE TRIGGER no_score_of_retired AFTER INSERT ON bench_checkpointscore
    REFERENCING NEW TABLE AS added FOR EACH STATEMENT EXECUTE FUNCTION bench_no_score_of_retired();
"""
BACKWARD = """
DROP TRIGGER no_score_of_retired ON bench_checkpointscore;
DROP FUNCTION bench_no_score_of_retired();
"""


class Migration(migrations.Migration):

    dependencies = [
        ('bench', '0023_answers_of_regularities'),
    ]

    operations = [
        migrations.AddField(
            model_name='checkpoint',
            name='retired',
            field=models.BooleanField(default=False, help_text='found wrong: asked of nobody, counted nowhere'),
        ),
        migrations.AddField(
            model_name='dataset',
            name='revision',
            field=models.PositiveIntegerField(default=0, help_text='counted up when checkpoints are retired or put back'),
        ),
        migrations.CreateModel(
            name='Erratum',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('revision', models.PositiveIntegerField(help_text='of the dataset, from which on it holds')),
                ('reason', models.TextField()),
                ('by', models.CharField(max_length=150)),
                ('retired_at', models.DateTimeField(auto_now_add=True)),
                ('put_back_at', models.DateTimeField(blank=True, null=True)),
                ('put_back_by', models.CharField(blank=True, default='', max_length=150)),
                ('checkpoint', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='errata', to='bench.checkpoint')),
                ('dataset', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='errata', to='bench.dataset')),
            ],
            options={
                'ordering': ['-id'],
                'constraints': [models.UniqueConstraint(condition=models.Q(('put_back_at__isnull', True)), fields=('checkpoint',), name='erratum_once_in_force')],
            },
        ),
        migrations.RunSQL(FORWARD, BACKWARD),
    ]
