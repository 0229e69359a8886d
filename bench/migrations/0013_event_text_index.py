from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("bench", "0012_names_that_have_an_address")]

    operations = [
        migrations.AddIndex(
            model_name="event", index=models.Index(fields=["text_sha256"], name="event_text_sha256")
        ),
    ]
