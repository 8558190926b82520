"""The content security policies of pages.

Every response has `PAGE`, except two addresses: a page to embed has `EMBED`, and a page that shows
such a page in a frame has `PREVIEW`.
"""

_PARTS = {
    "default-src": "'none'",
    "script-src": "'self'",
    "style-src": "'self'",
    "img-src": "'self' data:",
    "media-src": "'self'",
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
