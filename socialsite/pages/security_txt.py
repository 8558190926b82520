"""`/.well-known/security.txt`: where to report a security problem of this site (RFC 9116)."""

from datetime import UTC, datetime, timedelta

from django.conf import settings
from django.http import HttpRequest, HttpResponse
from django.views.decorators.http import require_safe

from socialsite.core import errors

# Clients fetch the file again after this time; each request generates it anew.
GOOD_FOR = timedelta(days=90)
FRESH_SECONDS = 86_400


@require_safe
def security_txt(request: HttpRequest) -> HttpResponse:
    """Return the operator's contact; raises NotFound if SECURITY_CONTACT is empty."""
    if not settings.SECURITY_CONTACT:
        raise errors.NotFound
    expires = datetime.now(UTC) + GOOD_FOR
    lines = (
        f"Contact: {settings.SECURITY_CONTACT}",
        f"Expires: {expires:%Y-%m-%dT%H:%M:%SZ}",
        "Preferred-Languages: en, zh",
        f"Canonical: {settings.SITE_URL}{request.path}",
    )
    return HttpResponse(
        "".join(f"{line}\n" for line in lines),
        content_type="text/plain; charset=utf-8",
        headers={"Cache-Control": f"public, max-age={FRESH_SECONDS}"},
    )
