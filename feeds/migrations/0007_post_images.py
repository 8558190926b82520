"""Store which posts show a picture, so that access to its file follows access to the posts."""

from typing import Any

from django.db import migrations, models

STEP = 1000


def fill(apps: Any, schema_editor: Any) -> None:
    """Write the rows of existing posts, in the order of their ids."""
    contents = apps.get_model("feeds", "PostContent").objects
    images = apps.get_model("feeds", "PostImage")
    last = 0
    while True:
        found = list(contents.filter(pk__gt=last).order_by("pk").values_list("pk", "images")[:STEP])
        if not found:
            return
        pairs = {(int(image["id"]), post) for post, shown in found for image in shown}
        images.objects.bulk_create(
            [images(media_id=media, post_id=post) for media, post in sorted(pairs)],
            ignore_conflicts=True,  # an interrupted migration starts again
        )
        last = found[-1][0]


class Migration(migrations.Migration):
    dependencies = [
        ("feeds", "0006_newest_index"),
    ]

    operations = [
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
                        on_delete=models.DO_NOTHING,
                        related_name="pictures",
                        to="feeds.post",
                    ),
                ),
            ],
        ),
        migrations.RunPython(fill, migrations.RunPython.noop, elidable=True),
    ]
