"""Results of the search, read page by page, and the slow scan that defines them."""

from accounts.models import User
from feeds.cards.hydration import Hydration
from feeds.discovery.search import language, paging
from feeds.discovery.search.matching import matches
from feeds.discovery.search.queries import Sort
from feeds.readers import reader_of
from feeds.visibility import visible_to

PAGES_MAX = 200


def pages(viewer: User | None, text: str, sort: Sort = "new", size: int = 3) -> list[list[str]]:
    """Return the ids of the results of a question, by pages."""
    question, cursor, found = language.parse(text), "", []
    for _ in range(PAGES_MAX):
        page = paging.page(viewer, question, sort, cursor, size)
        found.append([card["id"] for card in page.items])
        if page.next is None:
            return found
        cursor = page.next
    raise AssertionError("the pages do not end")


def results(viewer: User | None, text: str, sort: Sort = "new", size: int = 3) -> list[str]:
    """Return the ids of all results of a question in their order."""
    return [ident for page in pages(viewer, text, sort, size) for ident in page]


def scan(viewer: User | None, text: str) -> list[str]:
    """Return what the results of a question must be, newest first, from all posts."""
    question = language.parse(text)
    viewer_id = None if viewer is None else viewer.pk
    ids = list(visible_to(viewer_id).newest_first().values_list("pk", flat=True))
    cards = Hydration(reader_of(viewer_id)).cards(ids)
    return [str(ident) for ident in ids if ident in cards and matches(question, cards[ident])]
