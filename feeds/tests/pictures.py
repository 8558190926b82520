"""Rows of pictures for posts; nothing opens their files."""

from accounts.models import User
from socialsite.core.models import Media


def make_picture(
    owner: User, name: str = "a", *, width: int = 4, height: int = 3, alt: str = ""
) -> Media:
    return Media.objects.create(
        owner_id=owner.pk,
        name=f"aa/{name}.jpg",
        thumb_name=f"aa/{name}-s.jpg",
        width=width,
        height=height,
        size=1,
        alt=alt,
    )


def make_numbered_picture(owner: User, number: int = 0) -> Media:
    return make_picture(owner, str(number), width=640, height=480, alt=f"picture {number}")
