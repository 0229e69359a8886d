from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("bench", "0016_vectors_of_pieces")]

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
