import django.db.models.deletion
import django.utils.timezone
import socialsite.core.ids
from django.conf import settings
from django.db import migrations, models


class Migration(migrations.Migration):
    # A database with all of these has the tables already.
    replaces = [
        ("accounts", "0001_initial"),
        ("accounts", "0002_sign_on"),
        ("accounts", "0003_attempts_and_email"),
        ("accounts", "0004_tokenbatch_forgotten"),
        ("accounts", "0005_address_at"),
        ("accounts", "0006_date_addresses"),
        ("accounts", "0007_names"),
        ("accounts", "0008_profiles"),
        ("accounts", "0009_first_steps"),
        ("accounts", "0010_email_waiting"),
        ("accounts", "0011_name_search"),
        ("accounts", "0020_push"),
    ]

    initial = True

    dependencies = [
        # It sets the collation of the database.
        ("core", "0001_squashed_0009_videos"),
    ]

    operations = [
        migrations.CreateModel(
            name="User",
            fields=[
                ("password", models.CharField(max_length=128, verbose_name="password")),
                (
                    "id",
                    models.BigIntegerField(
                        default=socialsite.core.ids.new_id, primary_key=True, serialize=False
                    ),
                ),
                ("username", models.CharField(max_length=16)),
                ("username_key", models.CharField(max_length=16, unique=True)),
                ("nickname", models.CharField(max_length=60)),
                ("nickname_key", models.CharField(db_index=True, max_length=60)),
                ("email", models.EmailField(blank=True, default="", max_length=254)),
                ("avatar_name", models.CharField(blank=True, default="", max_length=80)),
                ("bio", models.CharField(blank=True, default="", max_length=200)),
                ("roles", models.PositiveSmallIntegerField(default=1)),
                ("created_at", models.DateTimeField(default=django.utils.timezone.now)),
                ("banned_at", models.DateTimeField(blank=True, null=True)),
                ("deleted_at", models.DateTimeField(blank=True, null=True)),
                (
                    "last_seen",
                    models.DateTimeField(db_index=True, default=django.utils.timezone.now),
                ),
                (
                    "email_key",
                    models.CharField(blank=True, db_index=True, default="", max_length=254),
                ),
                ("banner_name", models.CharField(blank=True, default="", max_length=80)),
                ("language", models.CharField(blank=True, default="", max_length=10)),
                ("likes_shown", models.BooleanField(default=False)),
                ("links", models.JSONField(blank=True, default=list)),
                ("place", models.CharField(blank=True, default="", max_length=60)),
                ("pronouns", models.CharField(blank=True, default="", max_length=30)),
                ("first_steps", models.BooleanField(default=False)),
                ("email_waiting", models.EmailField(blank=True, default="", max_length=254)),
            ],
            options={
                "verbose_name": "user",
                "verbose_name_plural": "users",
                "indexes": [models.Index(fields=["roles"], name="ix_user_roles")],
            },
        ),
        migrations.CreateModel(
            name="TokenBatch",
            fields=[
                (
                    "user",
                    models.OneToOneField(
                        on_delete=django.db.models.deletion.CASCADE,
                        primary_key=True,
                        related_name="+",
                        serialize=False,
                        to=settings.AUTH_USER_MODEL,
                    ),
                ),
                ("batch", models.PositiveIntegerField(default=1)),
                ("access_floor", models.PositiveIntegerField(default=0)),
                ("refresh_floor", models.PositiveIntegerField(default=0)),
                ("ended", models.CharField(blank=True, default="", max_length=16)),
                ("forgotten", models.PositiveIntegerField(default=0)),
            ],
            options={
                "verbose_name": "token batch",
                "verbose_name_plural": "token batches",
            },
        ),
        migrations.CreateModel(
            name="TokenVersion",
            fields=[
                ("id", models.BigAutoField(primary_key=True, serialize=False)),
                ("client", models.CharField(max_length=64)),
                ("version", models.PositiveIntegerField(default=1)),
                ("access_floor", models.PositiveIntegerField(default=0)),
                ("refresh_floor", models.PositiveIntegerField(default=0)),
                ("refresh_jti", models.CharField(blank=True, default="", max_length=32)),
                ("refresh_iat", models.BigIntegerField(default=0)),
                ("refresh_bat", models.PositiveIntegerField(default=0)),
                ("previous_jti", models.CharField(blank=True, default="", max_length=32)),
                ("previous_iat", models.BigIntegerField(default=0)),
                ("previous_bat", models.PositiveIntegerField(default=0)),
                ("oldest_jti", models.CharField(blank=True, default="", max_length=32)),
                ("rotated_at", models.BigIntegerField(default=0)),
                ("user_agent", models.CharField(blank=True, default="", max_length=300)),
                ("address", models.CharField(blank=True, default="", max_length=45)),
                ("last_seen", models.DateTimeField(default=django.utils.timezone.now)),
                (
                    "user",
                    models.ForeignKey(
                        db_index=False,
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="+",
                        to=settings.AUTH_USER_MODEL,
                    ),
                ),
                ("ended", models.CharField(blank=True, default="", max_length=16)),
                ("ended_by", models.CharField(blank=True, default="", max_length=80)),
                ("address_at", models.DateTimeField(blank=True, db_index=True, null=True)),
            ],
            options={
                "verbose_name": "token version",
                "verbose_name_plural": "token versions",
                "constraints": [
                    models.UniqueConstraint(fields=("user", "client"), name="uk_token_version")
                ],
            },
        ),
        migrations.CreateModel(
            name="Failures",
            fields=[
                ("key", models.CharField(max_length=64, primary_key=True, serialize=False)),
                ("count", models.PositiveIntegerField(default=0)),
                ("first_at", models.BigIntegerField(default=0)),
                ("wait_until", models.BigIntegerField(default=0)),
                ("last_at", models.BigIntegerField(db_index=True, default=0)),
                ("pending", models.PositiveIntegerField(default=0)),
            ],
            options={
                "verbose_name_plural": "failures",
            },
        ),
        migrations.CreateModel(
            name="AuditEntry",
            fields=[
                ("id", models.BigAutoField(primary_key=True, serialize=False)),
                ("action", models.CharField(max_length=32)),
                ("subject_type", models.CharField(max_length=16)),
                ("subject_id", models.BigIntegerField()),
                ("detail", models.JSONField(blank=True, default=dict)),
                ("address", models.CharField(blank=True, default="", max_length=45)),
                ("created_at", models.DateTimeField(default=django.utils.timezone.now)),
                (
                    "actor",
                    models.ForeignKey(
                        db_index=False,
                        null=True,
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="+",
                        to=settings.AUTH_USER_MODEL,
                    ),
                ),
                ("address_at", models.DateTimeField(blank=True, db_index=True, null=True)),
            ],
            options={
                "verbose_name": "audit entry",
                "verbose_name_plural": "audit entries",
                "indexes": [
                    models.Index(
                        fields=["subject_type", "subject_id", "id"], name="ix_audit_subject"
                    ),
                    models.Index(fields=["actor", "id"], name="ix_audit_actor"),
                ],
            },
        ),
        migrations.CreateModel(
            name="NameTerm",
            fields=[
                (
                    "pk",
                    models.CompositePrimaryKey(
                        "term",
                        "position",
                        "object_id",
                        blank=True,
                        editable=False,
                        primary_key=True,
                        serialize=False,
                    ),
                ),
                ("term", models.BigIntegerField(help_text="number of the term")),
                ("position", models.BigIntegerField(help_text="that of the object, Unix ms")),
                ("object_id", models.BigIntegerField()),
                ("weight", models.PositiveSmallIntegerField()),
            ],
        ),
        migrations.CreateModel(
            name="SearchedName",
            fields=[
                ("object_id", models.BigIntegerField(primary_key=True, serialize=False)),
                ("position", models.BigIntegerField()),
                ("terms", models.BinaryField(help_text="numbers and weights of the terms, packed")),
            ],
        ),
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
