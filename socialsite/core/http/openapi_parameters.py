"""OpenAPI parameters that several addresses share: paging and the idempotency key."""

from drf_spectacular.utils import OpenApiParameter

from socialsite.core.http.page_sizes import FEED_MAX, FEED_SIZE, LIST_MAX, LIST_SIZE


def _page(default: int, maximum: int) -> list[OpenApiParameter]:
    return [
        OpenApiParameter("cursor", str, description="`next` of the previous page"),
        OpenApiParameter(
            "size", {"type": "integer", "minimum": 1, "maximum": maximum, "default": default}
        ),
    ]


# Parameters of `api.page_params` with its default sizes, and with the sizes of feeds.
LIST_PAGE = _page(LIST_SIZE, LIST_MAX)
FEED_PAGE = _page(FEED_SIZE, FEED_MAX)
IDEMPOTENCY_KEY = OpenApiParameter(
    "Idempotency-Key",
    str,
    OpenApiParameter.HEADER,
    description="for 24 hours a repeat with the same key creates nothing, returns the first status"
    " and the object as it is now, 404 if it is deleted or hidden; `Idempotency-Replayed: true`",
)
