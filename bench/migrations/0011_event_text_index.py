from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("bench", "0010_outages")]

    operations = [
        migrations.AddIndex(
            model_name="event", index=models.Index(fields=["text_sha256"], name="event_text_sha256")
        ),
    ]
