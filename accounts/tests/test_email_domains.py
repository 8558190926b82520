"""Addresses under a domain in another script: stored and compared in one form."""

from importlib import import_module
from typing import Any

from django.apps import apps

from accounts import email_rules
from accounts.models import User
from accounts.naming import search

BOTH = ("name@bücher.example", "name@xn--bcher-kva.example")


def test_both_forms_of_a_domain_are_one_address() -> None:
    for value in (*BOTH, "name@BÜCHER.example", " name@bu\u0308cher.example "):
        assert email_rules.normal(value) == BOTH[1]
        assert email_rules.mistakes(value) == []
    for value in ("name@é..example", "name@-é.example", "námé@a.example", "a@\u202eé.example"):
        assert email_rules.mistakes(value)


def test_the_migration_rewrites_what_older_versions_stored(user: Any) -> None:
    old = {"email": BOTH[0], "email_key": BOTH[0], "email_waiting": "Name@BÜCHER.example"}
    User.objects.filter(pk=user.pk).update(**old, nickname="Ｊosé", nickname_key="ｊosé")
    migration = import_module("accounts.migrations.0002_comparable_addresses_and_names")
    migration.rewrite(apps, None)
    user.refresh_from_db()
    assert (user.email, user.email_key) == (BOTH[1], BOTH[1])
    assert user.email_waiting == "Name@xn--bcher-kva.example"
    assert user.nickname_key == search.key_of(user.nickname) == "jose"
