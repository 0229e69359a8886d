from django.apps.registry import Apps
from django.db import migrations, models
from django.db.backends.base.schema import BaseDatabaseSchemaEditor


def forget_what_was_assumed(apps: Apps, _: BaseDatabaseSchemaEditor | None) -> None:
    """Rows from before anybody asked were taken to have a system role. The next launch asks; that costs one token."""
    apps.get_model("bench", "Endpoint").objects.filter(system_role=True).update(system_role=None)


class Migration(migrations.Migration):
    dependencies = [("bench", "0019_gold_readings")]

    operations = [
        migrations.AlterField(
            model_name="endpoint",
            name="system_role",
            field=models.BooleanField(
                blank=True,
                default=None,
                help_text="whether the model takes a system message; unknown counts as yes, and the next launch asks",
                null=True,
            ),
        ),
        migrations.RunPython(forget_what_was_assumed, migrations.RunPython.noop),
    ]
