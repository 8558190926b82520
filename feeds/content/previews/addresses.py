"""Choose the address of a post that has a preview."""

from urllib.parse import urlsplit

from django.conf import settings

from feeds.models import Kind, PostContent
from socialsite.core.client.outgoing import URL_MAX
from socialsite.core.text import spans
from socialsite.core.text.urls import ascii_host


def address_of(kind: str, words: PostContent) -> str:
    """Return the address whose preview a post shows; "" for none.

    It is the first address of a micro post without pictures. Pages of this site have no preview,
    since not every reader may see them.
    """
    if kind != Kind.MICRO or words.images:
        return ""
    for span in spans.spans(words.content):
        shown = words.content[span.start : span.end]
        if span.kind is spans.Kind.BARE:
            shown = f"https://{shown}"
        elif span.kind is not spans.Kind.ADDRESS:
            continue
        return shown if len(shown) <= URL_MAX and not is_here(shown) else ""
    return ""


def host_of(address: str) -> str:
    """Return the host that a preview names; in ASCII, so that it cannot imitate another one."""
    host = urlsplit(address).hostname or ""
    try:
        return ascii_host(host.removeprefix("www."))
    except ValueError:
        return ""


def is_here(address: str) -> bool:
    """Return whether an address is one of this site, or not readable."""
    try:
        host = urlsplit(address).hostname
    except ValueError:
        return True
    here = {urlsplit(settings.SITE_URL).hostname, *settings.ALLOWED_HOSTS}
    return host is None or host.rstrip(".") in here
