from django.contrib.postgres.fields import ArrayField
from django.db import migrations, models

BEFORE = ["agent", "launch", "read"]  # what a token could do before there were scopes, but for gold


def give_scopes(apps, schema_editor):
    apps.get_model("bench", "ApiToken").objects.update(scopes=BEFORE)


class Migration(migrations.Migration):
    dependencies = [
        ("bench", "0010_outages"),
    ]

    operations = [
        migrations.AddField(
            model_name="apitoken",
            name="scopes",
            field=ArrayField(models.CharField(max_length=10), default=list, help_text="bench.tokens.Scope values"),
        ),
        migrations.RunPython(give_scopes, migrations.RunPython.noop),
        migrations.AddField(
            model_name="externalsession",
            name="record",
            field=models.JSONField(default=list, help_text="searches and tool calls as they were answered, in order"),
        ),
        migrations.AlterField(
            model_name="externalsession",
            name="tool_calls",
            field=models.PositiveIntegerField(default=0, help_text="those that found or did something"),
        ),
    ]
