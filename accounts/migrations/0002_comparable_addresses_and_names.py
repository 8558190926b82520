from typing import Any

from django.db import migrations

from accounts import email_rules
from accounts.naming import search

STEP = 1000


def rewrite(apps: Any, schema_editor: Any) -> None:
    """Store the addresses and the keys of nicknames as people who register now get them."""
    people = apps.get_model("accounts", "User").objects.order_by("pk")
    columns = ("nickname", "nickname_key", "email", "email_waiting", "email_key")
    rows = list(people.only(*columns)[:STEP])
    while rows:
        people.bulk_update([one for one in rows if _changed(one)], columns[1:])
        rows = list(people.filter(pk__gt=rows[-1].pk).only(*columns)[:STEP])


def _changed(person: Any) -> bool:
    key, email, waiting = person.nickname_key, person.email, person.email_waiting
    person.nickname_key = search.key_of(person.nickname)
    person.email, person.email_waiting = email_rules.normal(email), email_rules.normal(waiting)
    person.email_key = person.email.lower()
    return (key, email, waiting) != (person.nickname_key, person.email, person.email_waiting)


class Migration(migrations.Migration):
    dependencies = [
        ("accounts", "0001_squashed_0020_push"),
    ]

    operations = [
        migrations.RunPython(rewrite, migrations.RunPython.noop),
    ]
