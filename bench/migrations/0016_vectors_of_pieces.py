from django.db import migrations, models


class Migration(migrations.Migration):
    """A long text gets one vector a piece. What was embedded whole goes; `embed_events` embeds it in pieces."""

    dependencies = [
        ("bench", "0015_endpoints_without_a_system_role"),
    ]

    operations = [
        migrations.RemoveConstraint(
            model_name="eventvector",
            name="event_vector_unique",
        ),
        migrations.AddField(
            model_name="eventvector",
            name="piece",
            field=models.PositiveSmallIntegerField(
                default=0, db_default=0, help_text="place in the text, see bench/search/pieces.py"
            ),
        ),
        migrations.AddConstraint(
            model_name="eventvector",
            constraint=models.UniqueConstraint(
                fields=("persona", "model", "event", "piece"), name="event_vector_piece_unique"
            ),
        ),
        migrations.RunSQL(
            "DELETE FROM bench_eventvector v USING bench_event e WHERE v.event_id = e.id AND length(e.text) > 500",
            migrations.RunSQL.noop,
        ),
    ]
