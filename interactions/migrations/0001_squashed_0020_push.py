import django.db.models.deletion
import django.utils.timezone
import socialsite.core.ids
from django.conf import settings
from django.db import migrations, models


def index_users_of_likes(apps, schema_editor):
    """Create an index that no model declares: Django added it when `ix_like_user` was replaced.

    A new database gets it too, so that all databases of MySQL and MariaDB are equal.
    """
    if schema_editor.connection.vendor == "mysql":
        schema_editor.execute(
            "CREATE INDEX interactions_like_user_id_4026ba55 ON interactions_like (user_id)"
        )


class Migration(migrations.Migration):
    # A database with all of these has the tables already.
    replaces = [
        ("interactions", "0001_initial"),
        ("interactions", "0002_bookmarks"),
        ("interactions", "0003_like_changes"),
        ("interactions", "0004_notifications"),
        ("interactions", "0005_like_threads"),
        ("interactions", "0006_reports"),
        ("interactions", "0007_threads"),
        ("interactions", "0008_count_checks"),
        ("interactions", "0009_count_changes"),
        ("interactions", "0010_names"),
        ("interactions", "0011_comment_versions"),
        ("interactions", "0012_comments_of_a_person"),
        ("interactions", "0013_notifications_of_a_kind"),
        ("interactions", "0014_rising"),
        ("interactions", "0015_polls"),
        ("interactions", "0020_push"),
    ]

    initial = True

    dependencies = [
        migrations.swappable_dependency(settings.AUTH_USER_MODEL),
    ]

    operations = [
        migrations.CreateModel(
            name="Subject",
            fields=[
                ("id", models.BigAutoField(primary_key=True, serialize=False)),
                (
                    "subj_type",
                    models.PositiveSmallIntegerField(choices=[(1, "Post"), (2, "Comment")]),
                ),
                ("subj_id", models.BigIntegerField()),
                ("comment_count", models.PositiveIntegerField(default=0)),
                ("like_count", models.PositiveIntegerField(default=0)),
                (
                    "status",
                    models.PositiveSmallIntegerField(
                        choices=[(0, "Open"), (1, "Closed"), (2, "Featured"), (3, "Deleted")],
                        default=0,
                    ),
                ),
                ("created_at", models.DateTimeField(default=django.utils.timezone.now)),
                ("updated_at", models.DateTimeField(auto_now=True)),
                ("bookmark_count", models.PositiveIntegerField(default=0)),
                ("repost_count", models.PositiveIntegerField(default=0)),
                ("pins", models.JSONField(default=list)),
            ],
            options={
                "verbose_name": "subject",
                "verbose_name_plural": "subjects",
                "constraints": [
                    models.UniqueConstraint(fields=("subj_type", "subj_id"), name="uk_subject")
                ],
            },
        ),
        migrations.CreateModel(
            name="Comment",
            fields=[
                (
                    "id",
                    models.BigIntegerField(
                        default=socialsite.core.ids.new_id, primary_key=True, serialize=False
                    ),
                ),
                ("position", models.BigIntegerField(help_text="Unix ms")),
                ("like_count", models.PositiveIntegerField(default=0)),
                ("reply_count", models.PositiveIntegerField(default=0)),
                ("deleted", models.BooleanField(default=False)),
                ("attrs", models.PositiveSmallIntegerField(default=0)),
                (
                    "author",
                    models.ForeignKey(
                        db_constraint=False,
                        db_index=False,
                        on_delete=django.db.models.deletion.DO_NOTHING,
                        related_name="+",
                        to=settings.AUTH_USER_MODEL,
                    ),
                ),
                (
                    "parent",
                    models.ForeignKey(
                        db_constraint=False,
                        db_index=False,
                        null=True,
                        on_delete=django.db.models.deletion.DO_NOTHING,
                        related_name="+",
                        to="interactions.comment",
                    ),
                ),
                (
                    "root",
                    models.ForeignKey(
                        db_constraint=False,
                        db_index=False,
                        null=True,
                        on_delete=django.db.models.deletion.DO_NOTHING,
                        related_name="+",
                        to="interactions.comment",
                    ),
                ),
                (
                    "subject",
                    models.ForeignKey(
                        db_constraint=False,
                        db_index=False,
                        on_delete=django.db.models.deletion.DO_NOTHING,
                        to="interactions.subject",
                    ),
                ),
            ],
            options={
                "verbose_name": "comment",
                "verbose_name_plural": "comments",
                "indexes": [
                    models.Index(
                        fields=["subject", "root", "position", "id"], name="ix_thread_new"
                    ),
                    models.Index(
                        fields=["subject", "root", "like_count", "id"], name="ix_thread_hot"
                    ),
                    models.Index(
                        fields=["subject", "author", "root", "parent", "deleted"],
                        name="ix_thread_author",
                    ),
                    models.Index(fields=["parent", "position", "id"], name="ix_answers"),
                    models.Index(fields=["author", "position", "id"], name="ix_comment_author"),
                ],
            },
        ),
        migrations.CreateModel(
            name="CommentContent",
            fields=[
                (
                    "comment",
                    models.OneToOneField(
                        db_constraint=False,
                        on_delete=django.db.models.deletion.CASCADE,
                        primary_key=True,
                        related_name="content_row",
                        serialize=False,
                        to="interactions.comment",
                    ),
                ),
                ("content", models.TextField()),
                (
                    "edited_at",
                    models.BigIntegerField(help_text="of the last edit, Unix ms", null=True),
                ),
                ("version", models.PositiveIntegerField(default=1)),
            ],
        ),
        migrations.CreateModel(
            name="Like",
            fields=[
                (
                    "id",
                    models.BigIntegerField(
                        default=socialsite.core.ids.new_id, primary_key=True, serialize=False
                    ),
                ),
                (
                    "subj_type",
                    models.PositiveSmallIntegerField(choices=[(1, "Post"), (2, "Comment")]),
                ),
                ("subj_id", models.BigIntegerField()),
                ("created_at", models.BigIntegerField(help_text="Unix ms")),
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
                ("thread", models.BigIntegerField(default=0)),
            ],
            options={
                "verbose_name": "like",
                "verbose_name_plural": "likes",
                "indexes": [
                    models.Index(fields=["user", "thread", "subj_id"], name="ix_like_user"),
                    models.Index(fields=["subj_type", "subj_id", "id"], name="ix_likers"),
                ],
                "constraints": [
                    models.UniqueConstraint(fields=("subj_type", "subj_id", "user"), name="uk_like")
                ],
            },
        ),
        migrations.RunPython(index_users_of_likes, migrations.RunPython.noop, atomic=False),
        migrations.CreateModel(
            name="Bookmark",
            fields=[
                (
                    "id",
                    models.BigIntegerField(
                        default=socialsite.core.ids.new_id, primary_key=True, serialize=False
                    ),
                ),
                ("post_id", models.BigIntegerField()),
                ("position", models.BigIntegerField(help_text="time of the bookmark, Unix ms")),
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
            options={
                "indexes": [
                    models.Index(fields=["user", "position", "post_id"], name="ix_bookmarks"),
                    models.Index(fields=["post_id"], name="ix_bookmarked"),
                ],
                "constraints": [
                    models.UniqueConstraint(fields=("user", "post_id"), name="uk_bookmark")
                ],
            },
        ),
        migrations.CreateModel(
            name="CountChange",
            fields=[
                ("id", models.BigAutoField(primary_key=True, serialize=False)),
                (
                    "subj_type",
                    models.PositiveSmallIntegerField(choices=[(1, "Post"), (2, "Comment")]),
                ),
                ("subj_id", models.BigIntegerField()),
                ("by", models.SmallIntegerField(help_text="1 or -1")),
                (
                    "counted",
                    models.PositiveSmallIntegerField(
                        choices=[(1, "Like"), (2, "Repost"), (3, "Bookmark")]
                    ),
                ),
            ],
            options={
                "indexes": [
                    models.Index(
                        fields=["subj_type", "subj_id", "id", "counted", "by"],
                        name="ix_count_change",
                    )
                ],
            },
        ),
        migrations.CreateModel(
            name="NotificationReader",
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
                (
                    "last_position",
                    models.BigIntegerField(
                        default=0, help_text="of the newest notification, Unix ms"
                    ),
                ),
                ("preferences", models.JSONField(default=dict)),
                ("not_pushed", models.JSONField(default=list)),
            ],
        ),
        migrations.CreateModel(
            name="Notification",
            fields=[
                (
                    "id",
                    models.BigIntegerField(
                        default=socialsite.core.ids.new_id, primary_key=True, serialize=False
                    ),
                ),
                ("kind", models.PositiveSmallIntegerField()),
                ("subject_id", models.BigIntegerField()),
                ("post_id", models.BigIntegerField(default=0)),
                (
                    "position",
                    models.BigIntegerField(default=0, help_text="of the newest actor, Unix ms"),
                ),
                ("actor_count", models.PositiveIntegerField(default=0)),
                ("newest", models.JSONField(default=list)),
                ("read_position", models.BigIntegerField(default=0)),
                ("is_unread", models.BooleanField(default=False)),
                ("touched_at", models.BigIntegerField(help_text="last change by a fold, Unix ms")),
                ("reason", models.CharField(blank=True, default="", max_length=32)),
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
            options={
                "verbose_name": "notification",
                "verbose_name_plural": "notifications",
                "indexes": [
                    models.Index(fields=["user", "position", "id"], name="ix_notified"),
                    models.Index(fields=["user", "is_unread", "position"], name="ix_unread"),
                    models.Index(fields=["post_id", "subject_id"], name="ix_notified_about"),
                    models.Index(fields=["is_unread", "touched_at"], name="ix_notified_old"),
                    models.Index(
                        fields=["user", "kind", "position", "id"], name="ix_notified_kind"
                    ),
                ],
                "constraints": [
                    models.UniqueConstraint(
                        fields=("user", "kind", "subject_id"), name="uk_notification"
                    )
                ],
            },
        ),
        migrations.CreateModel(
            name="NotificationCause",
            fields=[
                (
                    "id",
                    models.BigIntegerField(
                        default=socialsite.core.ids.new_id, primary_key=True, serialize=False
                    ),
                ),
                ("kind", models.PositiveSmallIntegerField()),
                ("subject_id", models.BigIntegerField()),
                ("post_id", models.BigIntegerField(default=0)),
                ("ref", models.BigIntegerField(default=0)),
                ("stands", models.BooleanField(default=False)),
                ("shown", models.BooleanField(default=False)),
                ("muted", models.BooleanField(default=False)),
                (
                    "position",
                    models.BigIntegerField(default=0, help_text="Unix ms; 0 before its first fold"),
                ),
                ("due", models.BigIntegerField(null=True)),
                ("reason", models.CharField(blank=True, default="", max_length=32)),
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
            options={
                "verbose_name": "notification cause",
                "verbose_name_plural": "notification causes",
                "indexes": [
                    models.Index(fields=["due"], name="ix_cause_due"),
                    models.Index(fields=["actor", "user"], name="ix_cause_actor"),
                ],
                "constraints": [
                    models.UniqueConstraint(
                        fields=("user", "kind", "subject_id", "actor", "ref"),
                        name="uk_notification_cause",
                    )
                ],
            },
        ),
        migrations.CreateModel(
            name="Case",
            fields=[
                ("id", models.BigAutoField(primary_key=True, serialize=False)),
                (
                    "kind",
                    models.PositiveSmallIntegerField(
                        choices=[(1, "Post"), (2, "Comment"), (3, "User")]
                    ),
                ),
                ("subject_id", models.BigIntegerField()),
                ("open_count", models.PositiveIntegerField(default=0)),
                ("reasons", models.JSONField(default=dict)),
                (
                    "reported_at",
                    models.BigIntegerField(default=0, help_text="time of the last report, Unix ms"),
                ),
                (
                    "outcome",
                    models.CharField(
                        blank=True,
                        choices=[
                            ("", "Open"),
                            ("dismissed", "Dismissed"),
                            ("deleted", "Deleted"),
                            ("banned", "Banned"),
                            ("gone", "gone by itself"),
                        ],
                        default="",
                        max_length=16,
                    ),
                ),
                ("closed_at", models.BigIntegerField(help_text="Unix ms", null=True)),
                (
                    "closed_by",
                    models.ForeignKey(
                        db_constraint=False,
                        db_index=False,
                        null=True,
                        on_delete=django.db.models.deletion.DO_NOTHING,
                        related_name="+",
                        to=settings.AUTH_USER_MODEL,
                    ),
                ),
                (
                    "owner",
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
                "verbose_name": "case",
                "verbose_name_plural": "cases",
                "indexes": [
                    models.Index(fields=["open_count", "reported_at"], name="ix_case_open"),
                    models.Index(fields=["owner", "open_count"], name="ix_case_owner"),
                ],
                "constraints": [
                    models.UniqueConstraint(fields=("kind", "subject_id"), name="uk_case")
                ],
            },
        ),
        migrations.CreateModel(
            name="Report",
            fields=[
                ("id", models.BigAutoField(primary_key=True, serialize=False)),
                (
                    "reason",
                    models.CharField(
                        choices=[
                            ("spam", "Spam or advertising"),
                            ("abuse", "Insult or harassment"),
                            ("hate", "Hate against a group of people"),
                            ("violence", "Violence or threats"),
                            ("sexual", "Sexual content"),
                            ("private", "Private information about somebody"),
                            ("other", "Something else"),
                        ],
                        max_length=16,
                    ),
                ),
                ("words", models.CharField(blank=True, default="", max_length=500)),
                ("created_at", models.BigIntegerField(help_text="Unix ms")),
                ("is_open", models.BooleanField(default=True, null=True)),
                (
                    "outcome",
                    models.CharField(
                        blank=True,
                        choices=[
                            ("", "Open"),
                            ("dismissed", "Dismissed"),
                            ("deleted", "Deleted"),
                            ("banned", "Banned"),
                            ("gone", "gone by itself"),
                        ],
                        default="",
                        max_length=16,
                    ),
                ),
                (
                    "case",
                    models.ForeignKey(
                        db_constraint=False,
                        db_index=False,
                        on_delete=django.db.models.deletion.CASCADE,
                        to="interactions.case",
                    ),
                ),
                (
                    "reporter",
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
                "constraints": [
                    models.UniqueConstraint(
                        fields=("case", "reporter", "is_open"), name="uk_report_open"
                    )
                ],
            },
        ),
        migrations.CreateModel(
            name="CountCheck",
            fields=[
                ("id", models.BigAutoField(primary_key=True, serialize=False)),
                ("finished_at", models.BigIntegerField(help_text="Unix ms")),
                ("rows", models.PositiveBigIntegerField(help_text="rows compared")),
                ("wrong", models.PositiveBigIntegerField(help_text="rows with a wrong count")),
                ("drift", models.JSONField(default=dict)),
                ("fixed", models.BooleanField()),
            ],
        ),
        migrations.CreateModel(
            name="RisingPost",
            fields=[
                (
                    "place",
                    models.PositiveSmallIntegerField(
                        help_text="0: the first", primary_key=True, serialize=False
                    ),
                ),
                ("post_id", models.BigIntegerField()),
                ("score", models.FloatField()),
            ],
        ),
        migrations.CreateModel(
            name="Tally",
            fields=[
                ("post_id", models.BigIntegerField(primary_key=True, serialize=False)),
                ("people", models.PositiveIntegerField(default=0)),
                ("option_0", models.PositiveIntegerField(default=0)),
                ("option_1", models.PositiveIntegerField(default=0)),
                ("option_2", models.PositiveIntegerField(default=0)),
                ("option_3", models.PositiveIntegerField(default=0)),
                ("option_4", models.PositiveIntegerField(default=0)),
                ("option_5", models.PositiveIntegerField(default=0)),
                ("option_6", models.PositiveIntegerField(default=0)),
                ("option_7", models.PositiveIntegerField(default=0)),
            ],
            options={
                "verbose_name": "result of a poll",
                "verbose_name_plural": "results of polls",
            },
        ),
        migrations.CreateModel(
            name="Vote",
            fields=[
                (
                    "id",
                    models.BigIntegerField(
                        default=socialsite.core.ids.new_id, primary_key=True, serialize=False
                    ),
                ),
                ("post_id", models.BigIntegerField()),
                ("choices", models.PositiveSmallIntegerField()),
                ("created_at", models.BigIntegerField(help_text="Unix ms")),
                ("waiting", models.BigIntegerField(null=True)),
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
            options={
                "verbose_name": "vote",
                "verbose_name_plural": "votes",
                "indexes": [
                    models.Index(fields=["waiting", "id", "choices"], name="ix_vote_waiting"),
                    models.Index(fields=["post_id", "id"], name="ix_voters"),
                    models.Index(fields=["user", "post_id", "choices"], name="ix_vote_user"),
                ],
                "constraints": [
                    models.UniqueConstraint(fields=("post_id", "user"), name="uk_vote")
                ],
            },
        ),
    ]
