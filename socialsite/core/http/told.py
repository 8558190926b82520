"""What a form says before it is sent in earnest: the person sends it a second time to go on."""

from collections.abc import Collection

from django.http import HttpRequest

from socialsite.core.http.errors import InvalidInput

# The field of the form with what it said, and the error that says it.
FIELD, ERROR = "told", "unseen"


def check(request: HttpRequest, names: Collection[str]) -> None:
    """Raise InvalidInput unless the form said before that these people will not see the text."""
    if set(names) - set(request.POST.get(FIELD, "").split(",")):
        raise InvalidInput(fields={ERROR: list(names)})
