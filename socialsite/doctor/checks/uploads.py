"""Where the uploads are: a bucket is asked to take, give back and protect a file."""

import contextlib
import secrets
from collections.abc import Iterator

from django.conf import settings
from django.utils.translation import gettext as _

from socialsite.core.errors import Unavailable
from socialsite.core.media import stored_files
from socialsite.core.media.buckets import files as buckets
from socialsite.doctor.findings import Finding, error, ok, warning


def uploads() -> Iterator[Finding]:
    """A bucket takes, gives back and protects a file, and no upload waits to be moved there."""
    bucket = settings.MEDIA_BUCKET
    if bucket is None:
        yield ok(_("Uploads are on a disk of this machine."))
        return
    name, data = f"doctor/{secrets.token_hex(16)}", secrets.token_bytes(64)
    at = f"{bucket.endpoint} {bucket.bucket}"
    try:
        buckets.write(name, data)
        try:
            is_same = buckets.read(name) == data
            is_same = is_same and [one.name for one in buckets.listed(name)] == [name]
            is_open = buckets.is_open_to_all(name)
        finally:
            buckets.remove(name)
        with contextlib.suppress(FileNotFoundError):  # a server may say "forbidden" instead
            buckets.read(name)
            is_same = False
    except (Unavailable, FileNotFoundError) as reason:
        yield error(
            _("The bucket of the uploads cannot be used: %(at)s (%(reason)s).")
            % {"at": at, "reason": reason.__cause__ or reason},
            _(
                "Compare MEDIA_URL with the server: bucket, key, rights to list, write, read and"
                " delete."
            ),
        )
        return
    if not is_same:
        yield error(
            _("The bucket of the uploads does not list and give back what it took: %(at)s.")
            % {"at": at},
            _("Look for a cache or a proxy between the site and the server."),
        )
    if is_open:
        yield error(
            _("Everybody can read the bucket of the uploads, also private pictures: %(at)s.")
            % {"at": at},
            _("Make the bucket private: the site gives its readers signed addresses."),
        )
    if any(True for _name in stored_files.local_names()):
        yield warning(
            _("Some uploads are still on a disk of this machine: other machines cannot read them."),
            _("Run `manage.py move_media` on this machine."),
        )
    elif is_same and not is_open:
        yield ok(_("The bucket of the uploads takes, gives back and protects files."))
