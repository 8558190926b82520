"""Pin and unpin comments below one's post.

Both lock the post's subject, which every new comment locks too.
"""

from typing import TYPE_CHECKING

from django.db.models import F
from django.utils.translation import gettext_lazy as _

from interactions import queries
from interactions.actions.subjects import locked_subject
from interactions.events import CommentPinned, CommentUnpinned
from interactions.models import Comment, Subject
from socialsite.core import db
from socialsite.core.errors import Forbidden, InvalidInput, NotFound
from socialsite.core.events import publish

if TYPE_CHECKING:
    from accounts.models import User

PIN_MAX = 100


@db.atomic
def pin(user: "User", comment_id: int) -> None:
    """Pin a comment or reply below one's post; a repeat changes nothing. Publishes CommentPinned.

    Pinned comments come first in both sort orders; a pinned reply keeps its place in its thread.
    Raises NotFound if the comment is deleted or hidden from the person, Forbidden if the post is
    not theirs, InvalidInput (`comment`) if PIN_MAX are already pinned.
    """
    _set_pinned(user, comment_id, pinned=True)


@db.atomic
def unpin(user: "User", comment_id: int) -> None:
    """Unpin a comment; a repeat changes nothing. Publishes CommentUnpinned; raises as `pin`."""
    _set_pinned(user, comment_id, pinned=False)


def remove_pin(subject: Subject, comment_id: int) -> None:
    """Remove a deleted comment from the pins of its locked subject; the caller saves `pins`."""
    subject.pins = [ident for ident in subject.pins if ident != comment_id]


def _set_pinned(user: "User", comment_id: int, *, pinned: bool) -> None:
    found, post = queries.visible_comment(user, comment_id)
    if post.author_id != user.pk:
        raise Forbidden
    subject = locked_subject(post.pk)
    comment = Comment.objects.select_for_update().get(pk=found.pk)
    if comment.deleted:
        raise NotFound
    if pinned == (comment_id in subject.pins):
        return
    if pinned:
        if len(subject.pins) >= PIN_MAX:
            text = _("At most %(limit)s comments can be pinned.") % {"limit": PIN_MAX}
            raise InvalidInput(fields={"comment": [text]})
        subject.pins = [*subject.pins, comment_id]
    else:
        remove_pin(subject, comment_id)
    subject.save(update_fields=["pins", "updated_at"])
    bit = Comment.Attr.PINNED
    attrs = F("attrs").bitor(bit) if pinned else F("attrs").bitand(sum(Comment.Attr) - bit)
    Comment.objects.filter(pk=comment_id).update(attrs=attrs)
    told = CommentPinned if pinned else CommentUnpinned
    publish(
        told(
            id=comment_id,
            post_id=post.pk,
            author_id=comment.author_id,
            parent_id=comment.parent_id,
        )
    )
