"""The files of the site's logo, in the database: they are few and small, and every server has them.

The settings name the logo by its digest, which is in the addresses of its files.
"""

import hashlib
from collections.abc import Mapping

from socialsite.core import site
from socialsite.core.models import SiteLogo

DIGEST = 12  # hexadecimal digits


def file_of(logo: str, name: str) -> bytes | None:
    """Return a file of the logo; None for another logo, whose files are gone, or another name."""
    row = SiteLogo.objects.filter(logo=logo, name=name).first()
    return None if row is None else bytes(row.png)


def save(files: Mapping[str, bytes]) -> bool:
    """Make files the logo, in a transaction; without files the site has that of the design.

    Returns whether this is another logo.
    """
    row = site.stored()
    word = hashlib.sha256(b"".join(files[name] for name in sorted(files)))
    logo = word.hexdigest()[:DIGEST] if files else ""
    if logo == row.logo:
        return False
    SiteLogo.objects.all().delete()
    SiteLogo.objects.bulk_create(
        SiteLogo(logo=logo, name=name, png=data) for name, data in files.items()
    )
    row.logo = logo
    site.save(row)
    return True
