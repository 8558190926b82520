"""Public keys of the site's tokens, for services that verify them (RFC 7517)."""

from django.http import HttpRequest, JsonResponse
from django.views.decorators.http import require_safe

from accounts.tokens.keys import key_ring

# A service that caches the keys this long must learn a new key before it signs
# (docs/operations.md).
FRESH_SECONDS = 300


@require_safe
def jwks(request: HttpRequest) -> JsonResponse:
    """Return the public keys; none where only HS256 secrets are configured."""
    published = [key.jwk for key in key_ring().keys if key.jwk is not None]
    headers = {"Cache-Control": f"public, max-age={FRESH_SECONDS}"}
    return JsonResponse({"keys": published}, headers=headers)
