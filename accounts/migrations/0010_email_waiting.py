from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("accounts", "0009_first_steps")]

    operations = [
        migrations.AddField(
            model_name="user",
            name="email_waiting",
            field=models.EmailField(blank=True, default="", max_length=254),
        ),
    ]
