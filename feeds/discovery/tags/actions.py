"""Follow tags, and hide them from everybody."""

from typing import TYPE_CHECKING

from django.utils.translation import gettext as _

from accounts import actions as accounts_actions
from feeds.discovery.tags import indexing, queries
from feeds.models import Tag, TagFollow
from socialsite.core import db
from socialsite.core.errors import QuotaExceeded
from socialsite.core.rights import Right
from socialsite.core.text.spans import tag_of

if TYPE_CHECKING:
    from accounts.models import User


@db.atomic
def follow(user: "User", name: str) -> Tag:
    """Follow a tag, also one that nobody used yet; a repeat changes nothing.

    Raises NotFound if it is hidden or no name of a tag; QuotaExceeded. Follows of the same moment
    may exceed the limit a little.
    """
    tag = queries.named(name)
    mine = TagFollow.objects.filter(user_id=user.pk)
    if tag.pk and mine.filter(tag_id=tag.pk).exists():
        return tag
    if mine.count() >= TagFollow.MOST:
        raise QuotaExceeded(_("At most %(limit)s tags.") % {"limit": TagFollow.MOST})
    tag.pk = indexing.ids_of([tag.name])[tag.name]
    db.insert_ignore(TagFollow, [TagFollow(user_id=user.pk, tag_id=tag.pk)])
    return tag


@db.atomic
def unfollow(user: "User", name: str) -> None:
    """Stop following a tag, also one that is hidden; a repeat changes nothing."""
    found = Tag.objects.filter(name=tag_of(name)).values("pk")
    TagFollow.objects.filter(user_id=user.pk, tag_id__in=found).delete()


@db.atomic
def set_hidden(staff: "User", tag_id: int, address: str = "", *, hidden: bool) -> None:
    """Hide a tag from everybody, or show it again; the audit trail records who did it.

    Raises Forbidden or TwoFactorNeeded.
    """
    accounts_actions.check_staff(staff, Right.TAGS)
    if Tag.objects.filter(pk=tag_id, is_hidden=not hidden).update(is_hidden=hidden):
        act = accounts_actions.Act.HIDE_TAG if hidden else accounts_actions.Act.SHOW_TAG
        accounts_actions.note(staff, act, "tag", tag_id, address=address)
