"""A table for the times at which the entries of the schedule last ran."""

from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [
        ("core", "0006_names"),
    ]

    operations = [
        migrations.CreateModel(
            name="ScheduledRun",
            fields=[
                ("name", models.CharField(max_length=64, primary_key=True, serialize=False)),
                ("last_run", models.BigIntegerField()),
            ],
        ),
    ]
