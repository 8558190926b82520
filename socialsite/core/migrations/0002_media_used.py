"""Store whether a picture is used; existing pictures count as used."""

from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [
        ("core", "0001_initial"),
    ]

    operations = [
        migrations.AddField(
            model_name="media",
            name="is_used",
            field=models.BooleanField(default=True),
        ),
        migrations.AlterField(
            model_name="media",
            name="is_used",
            field=models.BooleanField(default=False),
        ),
        migrations.AddIndex(
            model_name="media",
            index=models.Index(fields=["is_used", "created_at"], name="ix_media_used"),
        ),
    ]
