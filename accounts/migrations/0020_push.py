import django.db.models.deletion
import django.utils.timezone
from django.conf import settings
from django.db import migrations, models

import socialsite.core.ids


class Migration(migrations.Migration):
    dependencies = [("accounts", "0011_name_search")]

    operations = [
        migrations.CreateModel(
            name="PushSubscription",
            fields=[
                (
                    "id",
                    models.BigIntegerField(
                        default=socialsite.core.ids.new_id, primary_key=True, serialize=False
                    ),
                ),
                ("client", models.CharField(max_length=64)),
                ("version", models.PositiveIntegerField()),
                ("batch", models.PositiveIntegerField()),
                ("endpoint", models.CharField(max_length=1024)),
                ("endpoint_hash", models.CharField(max_length=64, unique=True)),
                ("p256dh", models.CharField(max_length=88)),
                ("auth", models.CharField(max_length=24)),
                ("language", models.CharField(blank=True, default="", max_length=10)),
                ("created_at", models.DateTimeField(default=django.utils.timezone.now)),
                ("failures", models.PositiveSmallIntegerField(default=0)),
                ("wait_until", models.BigIntegerField(default=0)),
                (
                    "user",
                    models.ForeignKey(
                        db_index=False,
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="+",
                        to=settings.AUTH_USER_MODEL,
                    ),
                ),
            ],
            options={
                "verbose_name": "push subscription",
                "verbose_name_plural": "push subscriptions",
                "constraints": [
                    models.UniqueConstraint(fields=("user", "client"), name="uk_push_subscription")
                ],
            },
        ),
    ]
