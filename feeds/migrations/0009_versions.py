"""Versions of posts: the number of the present one, and the words of former ones."""

import django.db.models.deletion
from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [
        ("feeds", "0008_names"),
    ]

    operations = [
        migrations.AddField(
            model_name="postcontent",
            name="version",
            field=models.PositiveIntegerField(default=1),
        ),
        migrations.AlterField(
            model_name="postcontent",
            name="edited_at",
            field=models.BigIntegerField(help_text="of the last edit, Unix ms", null=True),
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
            ],
            options={
                "verbose_name": "former version of a post",
                "verbose_name_plural": "former versions of posts",
                "constraints": [
                    models.UniqueConstraint(fields=("post", "version"), name="uk_post_version")
                ],
            },
        ),
    ]
