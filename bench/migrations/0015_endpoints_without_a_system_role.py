from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("bench", "0014_who_works_on_external_units")]

    operations = [
        migrations.AddField(
            model_name="endpoint",
            name="system_role",
            field=models.BooleanField(
                blank=True,
                default=True,
                help_text="whether the model takes a system message; unknown counts as yes, and the next launch asks",
                null=True,
            ),
        ),
    ]
