"""WSGI entry: HTTP in the full stack."""

import os
from collections.abc import Callable, Iterable
from typing import Any

from django.core.wsgi import get_wsgi_application
from django.urls import get_resolver

from socialsite.core.http.server import body_limits, header_limits
from socialsite.core.runtime import data_dir, memory, request_ids

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "socialsite.settings")
os.umask(data_dir.UMASK)

READ_BYTES = 65_536
UNREAD_PARTS = body_limits.FILES // READ_BYTES

memory.tune()
django_application = get_wsgi_application()
get_resolver().url_patterns  # noqa: B018  (loads all views)
memory.settle()


def application(environ: dict[str, Any], start_response: Callable[..., Any]) -> Iterable[bytes]:
    """Answer with Django, then read the rest of the body, up to the largest allowed size.

    If nobody reads the body, the client sees a closed connection instead of the response.
    """
    request_ids.begin(request_ids.of_request(environ.get(request_ids.WSGI)))
    header_limits.bound(environ)
    answer: Iterable[bytes] = django_application(environ, start_response)
    stream = environ["wsgi.input"]
    for _part in range(UNREAD_PARTS):
        if not stream.read(READ_BYTES):
            break
    return answer
