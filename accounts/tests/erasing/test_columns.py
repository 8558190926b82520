"""Every column that may name a person has an eraser, or a reason to stay."""

import re
from typing import Any

from django.apps import apps
from django.db import models

from accounts.erasing import verifying
from accounts.models import User
from socialsite.core import erasing

PERSON = re.compile(
    r"(user|author|owner|viewer|reader|actor|target|other|maker|reporter|assignee|person|voter)"
    r"(_id)?$"
)


def refers_to_a_person(field: Any) -> bool:
    """Return whether a column refers to a person, by its foreign key or by its name."""
    if field.is_relation:
        return bool(field.related_model is User)
    return isinstance(field, models.IntegerField) and bool(PERSON.search(field.name))


def columns() -> dict[str, Any]:
    return {
        verifying.name_of(field): field
        for model in apps.get_models(include_auto_created=True)
        for field in model._meta.concrete_fields
    }


def test_every_column_that_refers_to_a_person_is_erased_or_says_why_it_stays() -> None:
    known = erasing.erased_columns.keys() | erasing.kept_columns.keys()
    wanted = {name for name, field in columns().items() if refers_to_a_person(field)}
    assert wanted - known == set()


def test_columns_that_are_named_exist_and_have_an_eraser() -> None:
    named = erasing.erased_columns.keys() | erasing.kept_columns.keys() | erasing.texts_of_others
    assert named - columns().keys() == set()
    assert erasing.erased_columns.keys() & erasing.kept_columns.keys() == set()
    erasers = {one.name for one in erasing.erasers()}
    assert set(erasing.erased_columns.values()) - erasers == set()


def test_two_erasers_have_different_names() -> None:
    names = [one.name for one in erasing.erasers()]
    assert len(names) == len(set(names))
