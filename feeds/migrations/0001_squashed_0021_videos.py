import django.db.models.deletion
import socialsite.core.ids
from django.conf import settings
from django.db import migrations, models


class Migration(migrations.Migration):
    # A database with all of these has the tables already.
    replaces = [
        ("feeds", "0001_initial"),
        ("feeds", "0002_caches"),
        ("feeds", "0003_feed_check"),
        ("feeds", "0004_reposts"),
        ("feeds", "0005_reposted_index"),
        ("feeds", "0006_newest_index"),
        ("feeds", "0007_post_images"),
        ("feeds", "0008_names"),
        ("feeds", "0009_versions"),
        ("feeds", "0010_drafts"),
        ("feeds", "0011_tags"),
        ("feeds", "0012_notes"),
        ("feeds", "0013_polls"),
        ("feeds", "0017_search"),
        ("feeds", "0018_previews"),
        ("feeds", "0019_audiences"),
        ("feeds", "0020_busy_tags"),
        ("feeds", "0021_videos"),
    ]

    initial = True

    dependencies = [
        migrations.swappable_dependency(settings.AUTH_USER_MODEL),
    ]

    operations = [
        migrations.CreateModel(
            name="AuthorHead",
            fields=[
                (
                    "author",
                    models.OneToOneField(
                        db_constraint=False,
                        on_delete=django.db.models.deletion.DO_NOTHING,
                        primary_key=True,
                        related_name="+",
                        serialize=False,
                        to=settings.AUTH_USER_MODEL,
                    ),
                ),
                ("last_position", models.BigIntegerField(default=0)),
                ("last_pulled_position", models.BigIntegerField(default=0)),
                ("post_count", models.PositiveIntegerField(default=0)),
                (
                    "mode",
                    models.PositiveSmallIntegerField(
                        choices=[(0, "All"), (1, "Active"), (2, "None")], default=0
                    ),
                ),
                ("named_count", models.PositiveIntegerField(default=0)),
            ],
            options={
                "indexes": [
                    models.Index(fields=["last_pulled_position", "author"], name="ix_head_pulled")
                ],
            },
        ),
        migrations.CreateModel(
            name="Post",
            fields=[
                (
                    "id",
                    models.BigIntegerField(
                        default=socialsite.core.ids.new_id, primary_key=True, serialize=False
                    ),
                ),
                (
                    "kind",
                    models.CharField(
                        choices=[
                            ("micro", "Micro"),
                            ("article", "Article"),
                            ("video", "Video"),
                            ("repost", "Repost"),
                        ],
                        default="micro",
                        max_length=8,
                    ),
                ),
                (
                    "visibility",
                    models.CharField(
                        choices=[
                            ("public", "Public"),
                            ("quiet", "Quiet"),
                            ("followers", "Followers"),
                            ("mentioned", "Mentioned"),
                            ("self", "Self"),
                        ],
                        default="public",
                        max_length=9,
                    ),
                ),
                ("position", models.BigIntegerField()),
                ("is_deleted", models.BooleanField(default=False)),
                (
                    "mode",
                    models.PositiveSmallIntegerField(
                        choices=[(0, "All"), (1, "Active"), (2, "None")], default=0
                    ),
                ),
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
                    "ref_post",
                    models.ForeignKey(
                        db_constraint=False,
                        db_index=False,
                        null=True,
                        on_delete=django.db.models.deletion.DO_NOTHING,
                        related_name="+",
                        to="feeds.post",
                    ),
                ),
            ],
            options={
                "verbose_name": "post",
                "verbose_name_plural": "posts",
                "indexes": [
                    models.Index(fields=["author", "position", "id"], name="ix_outbox"),
                    models.Index(fields=["author", "ref_post"], name="ix_reposts"),
                    models.Index(fields=["ref_post", "is_deleted"], name="ix_reposted"),
                    models.Index(
                        fields=["position", "id", "author", "is_deleted"], name="ix_newest"
                    ),
                ],
            },
        ),
        migrations.CreateModel(
            name="InboxState",
            fields=[
                (
                    "viewer",
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
                    "inbox_floor",
                    models.BigIntegerField(
                        default=0, help_text="Unix ms; posts at or below: pulled"
                    ),
                ),
                ("read_ts", models.BigIntegerField(default=0)),
                ("read_id", models.BigIntegerField(default=0)),
                ("generation", models.BigIntegerField(default=0)),
                ("shown", models.JSONField(default=list)),
                ("shown_from", models.BigIntegerField(default=0)),
            ],
        ),
        migrations.CreateModel(
            name="RecommendedAuthor",
            fields=[
                (
                    "author",
                    models.OneToOneField(
                        on_delete=django.db.models.deletion.CASCADE,
                        primary_key=True,
                        related_name="+",
                        serialize=False,
                        to=settings.AUTH_USER_MODEL,
                    ),
                ),
                ("added_at", models.DateTimeField(auto_now_add=True)),
            ],
            options={
                "verbose_name": "recommended author",
                "verbose_name_plural": "recommended authors",
            },
        ),
        migrations.CreateModel(
            name="FanOut",
            fields=[
                (
                    "post",
                    models.OneToOneField(
                        db_constraint=False,
                        on_delete=django.db.models.deletion.CASCADE,
                        primary_key=True,
                        related_name="+",
                        serialize=False,
                        to="feeds.post",
                    ),
                ),
                ("position", models.BigIntegerField()),
                (
                    "mode",
                    models.PositiveSmallIntegerField(
                        choices=[(0, "All"), (1, "Active"), (2, "None")]
                    ),
                ),
                ("total", models.PositiveIntegerField(default=0, help_text="chunks")),
                (
                    "state",
                    models.PositiveSmallIntegerField(
                        choices=[(0, "New"), (1, "Running"), (2, "Done")], default=0
                    ),
                ),
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
                ("done_at", models.BigIntegerField(help_text="Unix ms", null=True)),
            ],
            options={
                "verbose_name": "fan out",
                "verbose_name_plural": "fan outs",
                "indexes": [
                    models.Index(
                        fields=["state", "author", "position", "post"], name="ix_fanout_open"
                    )
                ],
            },
        ),
        migrations.CreateModel(
            name="PostContent",
            fields=[
                (
                    "post",
                    models.OneToOneField(
                        db_constraint=False,
                        on_delete=django.db.models.deletion.CASCADE,
                        primary_key=True,
                        related_name="content_row",
                        serialize=False,
                        to="feeds.post",
                    ),
                ),
                ("title", models.CharField(blank=True, default="", max_length=120)),
                ("content", models.TextField(blank=True, default="")),
                ("images", models.JSONField(default=list)),
                ("video_url", models.CharField(blank=True, default="", max_length=500)),
                (
                    "edited_at",
                    models.BigIntegerField(help_text="of the last edit, Unix ms", null=True),
                ),
                ("version", models.PositiveIntegerField(default=1)),
                ("note", models.CharField(blank=True, default="", max_length=100)),
                ("sensitive", models.BooleanField(default=False)),
                ("poll", models.JSONField(default=None, null=True)),
                ("link", models.JSONField(default=None, null=True)),
                ("video", models.JSONField(default=None, null=True)),
            ],
        ),
        migrations.CreateModel(
            name="InboxEdge",
            fields=[
                (
                    "pk",
                    models.CompositePrimaryKey(
                        "viewer",
                        "author",
                        blank=True,
                        editable=False,
                        primary_key=True,
                        serialize=False,
                    ),
                ),
                (
                    "backfilled_from",
                    models.BigIntegerField(help_text="Unix ms; 0: complete", null=True),
                ),
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
                    "viewer",
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
        migrations.CreateModel(
            name="InboxEntry",
            fields=[
                (
                    "pk",
                    models.CompositePrimaryKey(
                        "user",
                        "publish_time",
                        "post",
                        blank=True,
                        editable=False,
                        primary_key=True,
                        serialize=False,
                    ),
                ),
                ("publish_time", models.BigIntegerField(help_text="position of the post (T40)")),
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
                    "post",
                    models.ForeignKey(
                        db_constraint=False,
                        db_index=False,
                        on_delete=django.db.models.deletion.DO_NOTHING,
                        related_name="+",
                        to="feeds.post",
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
                "verbose_name_plural": "inbox entries",
            },
        ),
        migrations.CreateModel(
            name="FanOutChunk",
            fields=[
                ("id", models.BigAutoField(primary_key=True, serialize=False)),
                ("number", models.PositiveIntegerField()),
                ("lower", models.BigIntegerField()),
                ("upper", models.BigIntegerField()),
                ("delivered", models.PositiveIntegerField(default=0)),
                ("done", models.BooleanField(default=False)),
                ("lease", models.BigIntegerField(default=0)),
                ("leased_until", models.BigIntegerField(default=0)),
                (
                    "fanout",
                    models.ForeignKey(
                        db_constraint=False,
                        db_index=False,
                        on_delete=django.db.models.deletion.CASCADE,
                        to="feeds.fanout",
                    ),
                ),
                ("uncached", models.BooleanField(default=False)),
            ],
            options={
                "verbose_name": "fan out chunk",
                "verbose_name_plural": "fan out chunks",
                "indexes": [models.Index(fields=["done", "leased_until"], name="ix_chunk_due")],
                "constraints": [
                    models.UniqueConstraint(fields=("fanout", "number"), name="uk_chunk")
                ],
            },
        ),
        migrations.CreateModel(
            name="FeedCheck",
            fields=[
                ("id", models.BigAutoField(primary_key=True, serialize=False)),
                ("finished_at", models.BigIntegerField(help_text="Unix ms")),
                ("viewers", models.PositiveIntegerField()),
                ("pages", models.PositiveIntegerField()),
                ("unsettled", models.PositiveIntegerField(help_text="pages that kept changing")),
                (
                    "differences",
                    models.PositiveIntegerField(help_text="posts that were missing or wrong"),
                ),
            ],
        ),
        migrations.CreateModel(
            name="PostImage",
            fields=[
                (
                    "pk",
                    models.CompositePrimaryKey(
                        "media_id",
                        "post",
                        blank=True,
                        editable=False,
                        primary_key=True,
                        serialize=False,
                    ),
                ),
                ("media_id", models.BigIntegerField()),
                (
                    "post",
                    models.ForeignKey(
                        db_constraint=False,
                        db_index=False,
                        on_delete=django.db.models.deletion.DO_NOTHING,
                        related_name="pictures",
                        to="feeds.post",
                    ),
                ),
            ],
        ),
        migrations.CreateModel(
            name="PostVersion",
            fields=[
                ("id", models.BigAutoField(primary_key=True, serialize=False)),
                ("version", models.PositiveIntegerField()),
                ("title", models.CharField(blank=True, default="", max_length=120)),
                ("content", models.TextField(blank=True, default="")),
                (
                    "edited_at",
                    models.BigIntegerField(
                        help_text="when it became the present version, Unix ms; empty for the first",
                        null=True,
                    ),
                ),
                (
                    "post",
                    models.ForeignKey(
                        db_constraint=False,
                        db_index=False,
                        on_delete=django.db.models.deletion.DO_NOTHING,
                        related_name="+",
                        to="feeds.post",
                    ),
                ),
                ("note", models.CharField(blank=True, default="", max_length=100)),
            ],
            options={
                "verbose_name": "former version of a post",
                "verbose_name_plural": "former versions of posts",
                "constraints": [
                    models.UniqueConstraint(fields=("post", "version"), name="uk_post_version")
                ],
            },
        ),
        migrations.CreateModel(
            name="Draft",
            fields=[
                (
                    "id",
                    models.BigIntegerField(
                        default=socialsite.core.ids.new_id, primary_key=True, serialize=False
                    ),
                ),
                (
                    "kind",
                    models.CharField(
                        choices=[
                            ("micro", "Micro"),
                            ("article", "Article"),
                            ("video", "Video"),
                            ("repost", "Repost"),
                        ],
                        default="micro",
                        max_length=8,
                    ),
                ),
                ("title", models.CharField(blank=True, default="", max_length=120)),
                ("content", models.TextField(blank=True, default="")),
                ("video_url", models.CharField(blank=True, default="", max_length=500)),
                (
                    "visibility",
                    models.CharField(
                        choices=[
                            ("public", "Public"),
                            ("quiet", "Quiet"),
                            ("followers", "Followers"),
                            ("mentioned", "Mentioned"),
                            ("self", "Self"),
                        ],
                        default="public",
                        max_length=9,
                    ),
                ),
                ("publish_at", models.BigIntegerField(db_index=True, null=True)),
                ("failed_at", models.BigIntegerField(null=True)),
                ("created_at", models.BigIntegerField()),
                ("updated_at", models.BigIntegerField()),
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
                ("note", models.CharField(blank=True, default="", max_length=100)),
                ("sensitive", models.BooleanField(default=False)),
                ("poll", models.JSONField(default=None, null=True)),
                ("video", models.BigIntegerField(db_index=True, null=True)),
            ],
            options={
                "verbose_name": "draft",
                "verbose_name_plural": "drafts",
                "indexes": [
                    models.Index(fields=["author", "updated_at", "id"], name="ix_drafts"),
                    models.Index(fields=["updated_at"], name="ix_drafts_old"),
                ],
            },
        ),
        migrations.CreateModel(
            name="DraftImage",
            fields=[
                (
                    "pk",
                    models.CompositePrimaryKey(
                        "media_id",
                        "draft",
                        blank=True,
                        editable=False,
                        primary_key=True,
                        serialize=False,
                    ),
                ),
                ("media_id", models.BigIntegerField()),
                ("number", models.PositiveSmallIntegerField()),
                (
                    "draft",
                    models.ForeignKey(
                        db_constraint=False,
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="pictures",
                        to="feeds.draft",
                    ),
                ),
            ],
            options={
                "ordering": ("number",),
            },
        ),
        migrations.CreateModel(
            name="Tag",
            fields=[
                (
                    "id",
                    models.BigIntegerField(
                        default=socialsite.core.ids.new_id, primary_key=True, serialize=False
                    ),
                ),
                ("name", models.CharField(max_length=50, unique=True, verbose_name="name")),
                (
                    "is_hidden",
                    models.BooleanField(
                        default=False,
                        help_text="Its page, searches, suggestions and followers do not show it.",
                        verbose_name="hidden",
                    ),
                ),
            ],
            options={
                "verbose_name": "tag",
                "verbose_name_plural": "tags",
            },
        ),
        migrations.CreateModel(
            name="TrendingTag",
            fields=[
                (
                    "tag",
                    models.OneToOneField(
                        db_constraint=False,
                        on_delete=django.db.models.deletion.DO_NOTHING,
                        primary_key=True,
                        related_name="rank",
                        serialize=False,
                        to="feeds.tag",
                    ),
                ),
                ("score", models.FloatField(help_text="the higher, the more it is in use")),
            ],
        ),
        migrations.CreateModel(
            name="TagFollow",
            fields=[
                (
                    "pk",
                    models.CompositePrimaryKey(
                        "user", "tag", blank=True, editable=False, primary_key=True, serialize=False
                    ),
                ),
                (
                    "tag",
                    models.ForeignKey(
                        db_constraint=False,
                        db_index=False,
                        on_delete=django.db.models.deletion.DO_NOTHING,
                        related_name="+",
                        to="feeds.tag",
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
                "indexes": [models.Index(fields=["tag"], name="ix_followers_of_tag")],
            },
        ),
        migrations.CreateModel(
            name="PostTag",
            fields=[
                (
                    "pk",
                    models.CompositePrimaryKey(
                        "tag",
                        "position",
                        "post",
                        blank=True,
                        editable=False,
                        primary_key=True,
                        serialize=False,
                    ),
                ),
                ("position", models.BigIntegerField(help_text="that of the post")),
                ("is_public", models.BooleanField()),
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
                    "post",
                    models.ForeignKey(
                        db_constraint=False,
                        db_index=False,
                        on_delete=django.db.models.deletion.DO_NOTHING,
                        related_name="+",
                        to="feeds.post",
                    ),
                ),
                (
                    "tag",
                    models.ForeignKey(
                        db_constraint=False,
                        db_index=False,
                        on_delete=django.db.models.deletion.DO_NOTHING,
                        related_name="+",
                        to="feeds.tag",
                    ),
                ),
            ],
            options={
                "indexes": [
                    models.Index(fields=["post"], name="ix_tags_of_post"),
                    models.Index(
                        fields=["position", "is_public", "tag", "author"], name="ix_recent_tags"
                    ),
                ],
            },
        ),
        migrations.CreateModel(
            name="OpenPoll",
            fields=[
                (
                    "post",
                    models.OneToOneField(
                        db_constraint=False,
                        on_delete=django.db.models.deletion.DO_NOTHING,
                        primary_key=True,
                        related_name="+",
                        serialize=False,
                        to="feeds.post",
                    ),
                ),
                ("ends_at", models.BigIntegerField(db_index=True, help_text="Unix ms")),
            ],
        ),
        migrations.CreateModel(
            name="PostTerm",
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
            name="SearchCheck",
            fields=[
                ("id", models.BigAutoField(primary_key=True, serialize=False)),
                ("finished_at", models.BigIntegerField(help_text="Unix ms")),
                ("posts", models.PositiveIntegerField()),
                ("wrong", models.PositiveIntegerField()),
            ],
        ),
        migrations.CreateModel(
            name="SearchedPost",
            fields=[
                ("object_id", models.BigIntegerField(primary_key=True, serialize=False)),
                ("position", models.BigIntegerField()),
                ("terms", models.BinaryField(help_text="numbers and weights of the terms, packed")),
            ],
        ),
        migrations.CreateModel(
            name="FoundPreview",
            fields=[
                ("key", models.CharField(max_length=64, primary_key=True, serialize=False)),
                ("title", models.CharField(blank=True, default="", max_length=200)),
                ("text", models.CharField(blank=True, default="", max_length=300)),
                ("picture", models.BinaryField(default=b"")),
                ("found_at", models.BigIntegerField(db_index=True, help_text="Unix ms")),
            ],
            options={
                "verbose_name": "preview of a link",
                "verbose_name_plural": "previews of links",
            },
        ),
        migrations.CreateModel(
            name="WantedPreview",
            fields=[
                (
                    "post",
                    models.OneToOneField(
                        db_constraint=False,
                        on_delete=django.db.models.deletion.DO_NOTHING,
                        primary_key=True,
                        related_name="+",
                        serialize=False,
                        to="feeds.post",
                    ),
                ),
                ("due_at", models.BigIntegerField(db_index=True)),
                ("tries", models.PositiveSmallIntegerField(default=0)),
            ],
        ),
        migrations.CreateModel(
            name="PostAudience",
            fields=[
                (
                    "pk",
                    models.CompositePrimaryKey(
                        "post",
                        "user",
                        blank=True,
                        editable=False,
                        primary_key=True,
                        serialize=False,
                    ),
                ),
                (
                    "post",
                    models.ForeignKey(
                        db_constraint=False,
                        db_index=False,
                        on_delete=django.db.models.deletion.DO_NOTHING,
                        related_name="+",
                        to="feeds.post",
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
        migrations.CreateModel(
            name="BusyTag",
            fields=[
                (
                    "tag",
                    models.OneToOneField(
                        db_constraint=False,
                        on_delete=django.db.models.deletion.DO_NOTHING,
                        primary_key=True,
                        related_name="busy",
                        serialize=False,
                        to="feeds.tag",
                    ),
                ),
                (
                    "days",
                    models.JSONField(
                        help_text="public posts of each of the last days, the oldest first"
                    ),
                ),
            ],
        ),
    ]
