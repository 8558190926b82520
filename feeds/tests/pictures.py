"""Rows of pictures for posts; nothing opens their files."""

from accounts.models import User
from socialsite.core.models import Media


def make_picture(owner: User, name: str = "a") -> Media:
    return Media.objects.create(
        owner_id=owner.pk,
        name=f"aa/{name}.jpg",
        thumb_name=f"aa/{name}-s.jpg",
        width=4,
        height=3,
        size=1,
    )


def make_numbered_picture(owner: User, number: int = 0) -> Media:
    """Create a row of a picture; publishing never opens the file."""
    return Media.objects.create(
        owner_id=owner.pk,
        name=f"aa/{number}.jpg",
        thumb_name=f"aa/{number}-s.jpg",
        width=640,
        height=480,
        size=1,
        alt=f"picture {number}",
    )
