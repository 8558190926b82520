"""What a test reads from the HTML of a form."""

import re


def csrf_token(page: str) -> str:
    """Return the CSRF token of the first form of a page."""
    found = re.search(r'name="csrfmiddlewaretoken" value="(\w+)"', page)
    assert found, page
    return found[1]
