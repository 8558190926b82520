"""The content security policies of pages.

Every response has `PAGE`, except two addresses: a page to embed has `EMBED`, and a page that shows
such a page in a frame has `PREVIEW`. If the uploads are in a bucket, browsers load them from there.
"""

from django.conf import settings

_UPLOADS = f" {settings.MEDIA_BUCKET.origin}" if settings.MEDIA_BUCKET else ""

_PARTS = {
    "default-src": "'none'",
    "script-src": "'self'",
    "style-src": "'self'",
    "img-src": f"'self' data:{_UPLOADS}",
    "media-src": f"'self'{_UPLOADS}",
    "font-src": "'self'",
    "connect-src": "'self'",
    "manifest-src": "'self'",
    "form-action": "'self'",
    "base-uri": "'none'",
    "frame-ancestors": "'none'",
}


def _policy(**changes: str) -> str:
    parts = _PARTS | {name.replace("_", "-"): sources for name, sources in changes.items()}
    return "; ".join(f"{name} {sources}" for name, sources in parts.items())


PAGE = _policy()
PREVIEW = _policy(frame_src="'self'")
# No script runs in a frame of another site and no form is sent from it.
EMBED = _policy(
    script_src="'none'", connect_src="'none'", form_action="'none'", frame_ancestors="*"
)
