import django.db.models.deletion
import socialsite.core.ids
from django.conf import settings
from django.db import migrations, models


class Migration(migrations.Migration):
    # A database with all of these has the tables already.
    replaces = [
        ("relations", "0001_initial"),
        ("relations", "0002_count_check"),
        ("relations", "0003_names"),
        ("relations", "0004_suggestions"),
    ]

    initial = True

    dependencies = [
        migrations.swappable_dependency(settings.AUTH_USER_MODEL),
    ]

    operations = [
        migrations.CreateModel(
            name="RelationCount",
            fields=[
                (
                    "user",
                    models.OneToOneField(
                        db_constraint=False,
                        on_delete=django.db.models.deletion.DO_NOTHING,
                        primary_key=True,
                        related_name="+",
                        serialize=False,
                        to=settings.AUTH_USER_MODEL,
                    ),
                ),
                ("following", models.PositiveIntegerField(default=0)),
                ("followers", models.PositiveIntegerField(default=0)),
                ("friends", models.PositiveIntegerField(default=0)),
                ("blocked", models.PositiveIntegerField(default=0)),
            ],
            options={
                "verbose_name": "relation count",
                "verbose_name_plural": "relation counts",
            },
        ),
        migrations.CreateModel(
            name="RelationLog",
            fields=[
                (
                    "id",
                    models.BigIntegerField(
                        default=socialsite.core.ids.new_id, primary_key=True, serialize=False
                    ),
                ),
                ("action", models.CharField(max_length=12)),
                (
                    "before",
                    models.PositiveSmallIntegerField(
                        choices=[
                            (0, "Following"),
                            (1, "Followed"),
                            (2, "Blacklisting"),
                            (3, "Blacklisted"),
                            (4, "Bi Following"),
                            (5, "Bi Blacklisting"),
                        ],
                        null=True,
                    ),
                ),
                (
                    "after",
                    models.PositiveSmallIntegerField(
                        choices=[
                            (0, "Following"),
                            (1, "Followed"),
                            (2, "Blacklisting"),
                            (3, "Blacklisted"),
                            (4, "Bi Following"),
                            (5, "Bi Blacklisting"),
                        ],
                        null=True,
                    ),
                ),
                ("version", models.PositiveIntegerField()),
                ("at", models.BigIntegerField(help_text="Unix ms")),
                (
                    "actor",
                    models.ForeignKey(
                        db_constraint=False,
                        db_index=False,
                        on_delete=django.db.models.deletion.DO_NOTHING,
                        related_name="+",
                        to=settings.AUTH_USER_MODEL,
                    ),
                ),
                (
                    "target",
                    models.ForeignKey(
                        db_constraint=False,
                        db_index=False,
                        on_delete=django.db.models.deletion.DO_NOTHING,
                        related_name="+",
                        to=settings.AUTH_USER_MODEL,
                    ),
                ),
            ],
            options={
                "verbose_name": "relation log",
                "verbose_name_plural": "relation logs",
                "indexes": [
                    models.Index(fields=["actor", "target", "version"], name="ix_log_pair")
                ],
            },
        ),
        migrations.CreateModel(
            name="Relationship",
            fields=[
                ("id", models.BigAutoField(primary_key=True, serialize=False)),
                (
                    "relation",
                    models.PositiveSmallIntegerField(
                        choices=[
                            (0, "Following"),
                            (1, "Followed"),
                            (2, "Blacklisting"),
                            (3, "Blacklisted"),
                            (4, "Bi Following"),
                            (5, "Bi Blacklisting"),
                        ],
                        null=True,
                    ),
                ),
                (
                    "followed_at",
                    models.BigIntegerField(
                        help_text="time of the follow by `from_user`, Unix ms", null=True
                    ),
                ),
                (
                    "fan_since",
                    models.BigIntegerField(
                        help_text="time of the follow by `to_user`, Unix ms", null=True
                    ),
                ),
                (
                    "blocked_at",
                    models.BigIntegerField(
                        help_text="time of the block by `from_user`, Unix ms", null=True
                    ),
                ),
                ("version", models.PositiveIntegerField(default=0)),
                ("counted", models.PositiveSmallIntegerField(default=0)),
                (
                    "from_user",
                    models.ForeignKey(
                        db_constraint=False,
                        db_index=False,
                        on_delete=django.db.models.deletion.DO_NOTHING,
                        related_name="+",
                        to=settings.AUTH_USER_MODEL,
                    ),
                ),
                (
                    "to_user",
                    models.ForeignKey(
                        db_constraint=False,
                        db_index=False,
                        on_delete=django.db.models.deletion.DO_NOTHING,
                        related_name="+",
                        to=settings.AUTH_USER_MODEL,
                    ),
                ),
            ],
            options={
                "verbose_name": "relationship",
                "verbose_name_plural": "relationships",
                "indexes": [
                    models.Index(
                        fields=["from_user", "followed_at", "to_user", "relation"],
                        name="ix_following",
                    ),
                    models.Index(
                        fields=["from_user", "fan_since", "to_user", "relation"], name="ix_fans"
                    ),
                    models.Index(fields=["from_user", "relation", "to_user"], name="ix_state"),
                ],
                "constraints": [
                    models.UniqueConstraint(fields=("from_user", "to_user"), name="uk_from_to"),
                    models.CheckConstraint(
                        condition=models.Q(("from_user", models.F("to_user")), _negated=True),
                        name="ck_not_self",
                    ),
                ],
            },
        ),
        migrations.CreateModel(
            name="CountCheck",
            fields=[
                ("id", models.BigAutoField(primary_key=True, serialize=False)),
                ("finished_at", models.BigIntegerField(help_text="Unix ms")),
                ("people", models.PositiveIntegerField()),
                ("wrong", models.PositiveIntegerField(help_text="people with a wrong counter")),
                ("following", models.PositiveBigIntegerField()),
                ("followers", models.PositiveBigIntegerField()),
                ("friends", models.PositiveBigIntegerField()),
                ("blocked", models.PositiveBigIntegerField()),
                ("fixed", models.BooleanField()),
            ],
        ),
        migrations.CreateModel(
            name="SuggestionList",
            fields=[
                (
                    "user",
                    models.OneToOneField(
                        db_constraint=False,
                        on_delete=django.db.models.deletion.DO_NOTHING,
                        primary_key=True,
                        related_name="+",
                        serialize=False,
                        to=settings.AUTH_USER_MODEL,
                    ),
                ),
                ("candidates", models.JSONField(default=list, help_text="ids")),
                ("computed_at", models.BigIntegerField(db_index=True, help_text="Unix ms")),
            ],
        ),
        migrations.CreateModel(
            name="Dismissal",
            fields=[
                (
                    "pk",
                    models.CompositePrimaryKey(
                        "user",
                        "other",
                        blank=True,
                        editable=False,
                        primary_key=True,
                        serialize=False,
                    ),
                ),
                (
                    "other",
                    models.ForeignKey(
                        db_constraint=False,
                        db_index=False,
                        on_delete=django.db.models.deletion.DO_NOTHING,
                        related_name="+",
                        to=settings.AUTH_USER_MODEL,
                    ),
                ),
                (
                    "user",
                    models.ForeignKey(
                        db_constraint=False,
                        db_index=False,
                        on_delete=django.db.models.deletion.DO_NOTHING,
                        related_name="+",
                        to=settings.AUTH_USER_MODEL,
                    ),
                ),
            ],
        ),
    ]
