"""Choose the address of a post that has a preview."""

from urllib.parse import urlsplit

from django.conf import settings

from feeds.models import Kind, PostContent
from socialsite.core.client.outgoing import URL_MAX
from socialsite.core.text import markdown, spans
from socialsite.core.text.urls import ascii_host


def address_of(kind: str, words: PostContent) -> str:
    """Return the address whose preview a post shows; "" for none.

    It is the first address of its text; a post of the kind video has another link. Pages of this
    site have no preview, since not every reader may see them.
    """
    if kind == Kind.VIDEO:
        return ""
    is_article = kind == Kind.ARTICLE
    found = markdown.read(words.content).address if is_article else _first(words.content)
    return found if len(found) <= URL_MAX and not is_here(found) else ""


def _first(text: str) -> str:
    """Return the first address of a text, "" for none."""
    for span in spans.spans(text):
        if span.kind is spans.Kind.ADDRESS:
            return text[span.start : span.end]
        if span.kind is spans.Kind.BARE:
            return f"https://{text[span.start : span.end]}"
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
