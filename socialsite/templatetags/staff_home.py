"""The tag of the staff home's template."""

from typing import Any

from django import template

from accounts.models import User
from socialsite.staff_home.contents import TILES

register = template.Library()


@register.inclusion_tag("socialsite/_staff_home.html")
def staff_home(viewer: User) -> dict[str, Any]:
    """Show the tiles that a member of staff may see."""
    tiles = [tile.show() for tile in TILES if viewer.is_superuser or not tile.admins_only]
    return {"tiles": [tile for tile in tiles if tile is not None]}
