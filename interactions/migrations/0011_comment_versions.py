"""Versions of comments."""

from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [
        ("interactions", "0010_names"),
    ]

    operations = [
        migrations.AddField(
            model_name="commentcontent",
            name="edited_at",
            field=models.BigIntegerField(help_text="of the last edit, Unix ms", null=True),
        ),
        migrations.AddField(
            model_name="commentcontent",
            name="version",
            field=models.PositiveIntegerField(default=1),
        ),
    ]
