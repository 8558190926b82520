"""The lease of the worker that erases a closed account."""

from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [
        ("accounts", "0010_sign_in_log"),
    ]

    operations = [
        migrations.AddField(
            model_name="closing",
            name="lease",
            field=models.BigIntegerField(default=0, editable=False, verbose_name="leased until"),
        ),
    ]
