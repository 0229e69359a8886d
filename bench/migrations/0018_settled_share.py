from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("bench", "0017_checkpoints_have_a_tier")]

    operations = [
        migrations.AddField(
            model_name="trajectory",
            name="settled",
            field=models.FloatField(
                blank=True,
                help_text="0..1, preference checkpoints that the evidence settles; null: it has none",
                null=True,
            ),
        ),
    ]
