"""Django admin names every field in the language of its reader."""

from typing import Any

import pytest
from django.contrib import admin
from django.contrib.admin.utils import flatten_fieldsets, label_for_field
from django.db.models import Model
from django.utils import translation

# Words that are the same in Chinese.
SAME = {"id", "ID"}


def labels(model: type[Model], shown: admin.ModelAdmin, language: str) -> dict[Any, str]:
    """Return the labels of the list, the form and the actions of an admin."""
    names: set[Any] = set(shown.list_display)
    names |= set(flatten_fieldsets(shown.fieldsets or []))
    own = {field.name for field in model._meta.local_fields}
    asked = {name: field for name, field in shown.form.base_fields.items() if name not in own}
    found = {}
    for name in (names | own) - asked.keys():
        with translation.override(language):
            found[name] = str(label_for_field(name, model, shown))
    for name, field in asked.items():
        with translation.override(language):
            found[name] = str(field.label)
    for name in shown.actions or ():
        with translation.override(language):
            found[name] = str(getattr(shown, str(name)).short_description)
    return found


@pytest.mark.once
@pytest.mark.parametrize("model", admin.site._registry, ids=lambda model: model._meta.label)
def test_every_label_is_translated(model: type[Model]) -> None:
    shown = admin.site._registry[model]
    english, chinese = (labels(model, shown, language) for language in ("en", "zh-hans"))
    assert english.keys() == chinese.keys()
    same = {name for name in english if english[name] == chinese[name]}
    assert {english[name] for name in same} <= SAME
