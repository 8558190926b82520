"""Pages of cases in the admin, as tests read them."""

from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext

from accounts.tests.browsers import text_of
from interactions.models import Case

QUEUE = "/admin/interactions/case/"


def address_of(case: Case) -> str:
    return f"{QUEUE}{case.pk}/change/"


def page_of(browser: Client, case: Case) -> str:
    return text_of(browser.get(address_of(case)))


def queries_of(browser: Client, address: str) -> int:
    """Return the number of queries of a page that was seen before."""
    browser.get(address)
    with CaptureQueriesContext(connection) as queries:
        assert browser.get(address).status_code == 200
    return len(queries)
