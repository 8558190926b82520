"""Mistakes of what people enter about themselves, as texts, and the error that lists them.

The rules: `naming.name_rules`, `credentials.password_rules`, `email_rules`, `profile_rules`.
"""

from django.utils.functional import Promise

from socialsite.core.errors import RegMatchError

Texts = list[str | Promise]

# Control characters, surrogates, private and unassigned characters, line and paragraph separators.
UNPRINTABLE = frozenset(("Cc", "Cs", "Co", "Cn", "Zl", "Zp"))


def check(**found: Texts) -> None:
    """Raise RegMatchError with the fields that have mistakes."""
    fields = {name: texts for name, texts in found.items() if texts}
    if fields:
        raise RegMatchError(fields=fields)
