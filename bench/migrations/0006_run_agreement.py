"""Agreement is kept with the run. Results of before lack what the comparison page reads now: computed anew."""

from django.db import migrations, models


def forget_results(apps, schema_editor):
    apps.get_model("bench", "Run").objects.exclude(results=None).update(results=None)


class Migration(migrations.Migration):
    dependencies = [("bench", "0005_external_session")]

    operations = [
        migrations.AddField(
            model_name="run",
            name="agreement",
            field=models.JSONField(blank=True, help_text="who agrees with whom; null: to be computed anew", null=True),
        ),
        migrations.RunPython(forget_results, migrations.RunPython.noop),
    ]
