import django.db.models.deletion
import django.utils.timezone
import socialsite.core.ids
from django.db import migrations, models


def binary_collation(apps, schema_editor):
    """Compare text by its bytes: general collations treat àlice1 and alice1 as equal (T13)."""
    if schema_editor.connection.vendor == "mysql":
        name = schema_editor.quote_name(schema_editor.connection.settings_dict["NAME"])
        schema_editor.execute(f"ALTER DATABASE {name} CHARACTER SET utf8mb4 COLLATE utf8mb4_bin")


class Migration(migrations.Migration):
    # A database with all of these has the tables already.
    replaces = [
        ("core", "0001_initial"),
        ("core", "0002_media_used"),
        ("core", "0003_allowance"),
        ("core", "0004_idempotency_made_id"),
        ("core", "0005_idempotency_bodies"),
        ("core", "0006_names"),
        ("core", "0007_scheduledrun"),
        ("core", "0008_placeholders"),
        ("core", "0009_videos"),
    ]

    initial = True

    dependencies = []

    operations = [
        migrations.RunPython(binary_collation, migrations.RunPython.noop, atomic=False),
        migrations.CreateModel(
            name="Event",
            fields=[
                ("id", models.BigAutoField(primary_key=True, serialize=False)),
                ("aggregate_type", models.CharField(max_length=32)),
                ("aggregate_id", models.BigIntegerField()),
                ("type", models.CharField(max_length=64)),
                ("payload", models.JSONField()),
                ("created_at", models.DateTimeField(default=django.utils.timezone.now)),
                ("available_at", models.BigIntegerField(default=0)),
                ("lease", models.BigIntegerField(default=0)),
                ("attempts", models.PositiveIntegerField(default=0)),
                ("applied", models.BooleanField(default=False)),
                ("dead", models.BooleanField(default=False)),
                ("error", models.TextField(blank=True, default="")),
            ],
            options={
                "verbose_name": "event",
                "verbose_name_plural": "events",
                "indexes": [
                    models.Index(fields=["dead", "available_at", "id"], name="ix_outbox_due"),
                    models.Index(fields=["aggregate_type", "aggregate_id"], name="ix_outbox_agg"),
                    models.Index(fields=["created_at"], name="ix_outbox_ct"),
                ],
            },
        ),
        migrations.CreateModel(
            name="IdempotencyKey",
            fields=[
                ("id", models.BigAutoField(primary_key=True, serialize=False)),
                ("user_id", models.BigIntegerField()),
                ("key", models.CharField(max_length=100)),
                ("fingerprint", models.CharField(max_length=64)),
                ("status", models.PositiveSmallIntegerField(default=0)),
                (
                    "created_at",
                    models.DateTimeField(db_index=True, default=django.utils.timezone.now),
                ),
                ("made_id", models.BigIntegerField(default=0)),
            ],
            options={
                "constraints": [
                    models.UniqueConstraint(fields=("user_id", "key"), name="uk_idempotency_key")
                ],
            },
        ),
        migrations.CreateModel(
            name="Media",
            fields=[
                (
                    "id",
                    models.BigIntegerField(
                        default=socialsite.core.ids.new_id, primary_key=True, serialize=False
                    ),
                ),
                ("owner_id", models.BigIntegerField()),
                ("name", models.CharField(max_length=80, unique=True)),
                ("thumb_name", models.CharField(blank=True, max_length=80)),
                ("width", models.PositiveIntegerField()),
                ("height", models.PositiveIntegerField()),
                (
                    "size",
                    models.PositiveIntegerField(help_text="bytes of the picture and its thumbnail"),
                ),
                ("alt", models.CharField(blank=True, default="", max_length=200)),
                ("created_at", models.DateTimeField(default=django.utils.timezone.now)),
                ("is_used", models.BooleanField(default=False)),
                ("placeholder", models.CharField(blank=True, default="", max_length=40)),
                ("is_video", models.BooleanField(default=False)),
            ],
            options={
                "verbose_name_plural": "media",
                "indexes": [
                    models.Index(fields=["owner_id", "created_at"], name="ix_media_owner"),
                    models.Index(fields=["is_used", "created_at"], name="ix_media_used"),
                ],
            },
        ),
        migrations.CreateModel(
            name="Allowance",
            fields=[
                ("key", models.CharField(max_length=64, primary_key=True, serialize=False)),
                ("full_at", models.BigIntegerField(db_index=True, default=0)),
            ],
        ),
        migrations.CreateModel(
            name="ScheduledRun",
            fields=[
                ("name", models.CharField(max_length=64, primary_key=True, serialize=False)),
                ("last_run", models.BigIntegerField()),
            ],
        ),
        migrations.CreateModel(
            name="Video",
            fields=[
                (
                    "media",
                    models.OneToOneField(
                        db_constraint=False,
                        on_delete=django.db.models.deletion.DO_NOTHING,
                        primary_key=True,
                        related_name="video",
                        serialize=False,
                        to="core.media",
                    ),
                ),
                (
                    "state",
                    models.CharField(
                        choices=[
                            ("processing", "processing"),
                            ("ready", "ready"),
                            ("failed", "failed"),
                        ],
                        default="processing",
                        max_length=10,
                    ),
                ),
                ("source", models.CharField(blank=True, default="", max_length=40)),
                (
                    "source_size",
                    models.PositiveIntegerField(default=0, help_text="bytes of the upload"),
                ),
                ("seconds", models.FloatField(default=0)),
                ("progress", models.PositiveSmallIntegerField(default=0, help_text="percent")),
                ("failure", models.CharField(blank=True, default="", max_length=20)),
                ("due_at", models.BigIntegerField(default=0)),
                ("lease", models.BigIntegerField(default=0)),
                ("tries", models.PositiveSmallIntegerField(default=0)),
                ("uploaded_at", models.BigIntegerField()),
                ("finished_at", models.BigIntegerField(null=True)),
            ],
            options={
                "verbose_name": "video",
                "verbose_name_plural": "videos",
                "indexes": [models.Index(fields=["state", "due_at"], name="ix_video_due")],
            },
        ),
    ]
