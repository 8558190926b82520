"""Warnings that a form shows once: the person sends the form again to confirm."""

from collections.abc import Collection

from django.http import HttpRequest

from socialsite.core.errors import InvalidInput

# The field of the form with the names of the last warning, and the error that shows them.
FIELD, ERROR = "told", "unseen"


def check(request: HttpRequest, names: Collection[str]) -> None:
    """Raise InvalidInput unless the form has warned that these people will not see the text."""
    if set(names) - set(request.POST.get(FIELD, "").split(",")):
        raise InvalidInput(fields={ERROR: list(names)})
