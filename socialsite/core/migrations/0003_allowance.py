"""A table for the budgets that are counted in the database."""

from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [
        ("core", "0002_media_used"),
    ]

    operations = [
        migrations.CreateModel(
            name="Allowance",
            fields=[
                ("key", models.CharField(max_length=64, primary_key=True, serialize=False)),
                ("full_at", models.BigIntegerField(db_index=True, default=0)),
            ],
        ),
    ]
