"""Names of the models in the admin, translated."""

from django.db import migrations


class Migration(migrations.Migration):
    dependencies = [
        ("feeds", "0007_post_images"),
    ]

    operations = [
        migrations.AlterModelOptions(
            name="fanout",
            options={"verbose_name": "fan out", "verbose_name_plural": "fan outs"},
        ),
        migrations.AlterModelOptions(
            name="fanoutchunk",
            options={"verbose_name": "fan out chunk", "verbose_name_plural": "fan out chunks"},
        ),
        migrations.AlterModelOptions(
            name="post",
            options={"verbose_name": "post", "verbose_name_plural": "posts"},
        ),
        migrations.AlterModelOptions(
            name="recommendedauthor",
            options={
                "verbose_name": "recommended author",
                "verbose_name_plural": "recommended authors",
            },
        ),
    ]
