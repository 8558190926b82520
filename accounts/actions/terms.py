"""The terms of the site, as people accept them."""

from accounts.audit import Act, note
from accounts.models import User
from socialsite.core import db, site
from socialsite.core.errors import TermsNotAccepted


def check_terms(version: int) -> None:
    """Raise TermsNotAccepted unless accepting this version of the terms is enough; 0 for none."""
    here = site.current()
    if not here.terms_needed <= version <= here.terms:
        raise TermsNotAccepted(fields={"terms": [TermsNotAccepted.message]})


@db.atomic
def accept_terms(user: User, version: int, address: str = "") -> None:
    """Note, once, that a person accepted a version of the terms; raises as `check_terms`."""
    check_terms(version)
    if User.objects.filter(pk=user.pk, terms_accepted__lt=version).update(terms_accepted=version):
        note_terms(user, version, address)


def note_terms(user: User, version: int, address: str = "") -> None:
    """Record that a person accepted a version."""
    note(user, Act.TERMS, "user", user.pk, {"version": version}, address)
