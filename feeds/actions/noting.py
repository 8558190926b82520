"""Content notes that staff put above posts; their authors cannot change them."""

from functools import partial
from typing import TYPE_CHECKING

from django.db import transaction
from django.utils.translation import gettext_lazy as _

from accounts import actions as accounts_actions
from feeds import cache
from feeds.actions.editing import keep_version
from feeds.events import PostEdited
from feeds.models import Kind, Post, PostContent
from socialsite.core import db, events
from socialsite.core.errors import Forbidden, NotFound
from socialsite.core.rights import Right
from socialsite.core.text.fields import checked

if TYPE_CHECKING:
    from accounts.models import User

# What an undo puts back: whether the pictures were blurred, followed by the note.
BLURRED, SHARP = "1", "0"


@db.atomic
def put_note(
    actor: "User",
    post_id: int,
    note: str,
    address: str = "",
    grounds: accounts_actions.Grounds = accounts_actions.NO_GROUNDS,
) -> bool:
    """Put a content note above a post and blur its pictures, as a new version of its words.

    Returns False if it has one of staff already. Publishes PostEdited. Raises InvalidInput
    (`note`), NotFound, Forbidden for a repost, which has no note, and if the actor may not act on
    the author, TwoFactorNeeded.
    """
    line = checked(note, "note", PostContent.NOTE_MAX, _("Write something."))
    post = Post.objects.select_for_update().filter(pk=post_id, is_deleted=False).first()
    if post is None or post.is_removed:
        raise NotFound
    accounts_actions.check_over(actor, post.author, Right.CONTENT)
    if post.kind == Kind.REPOST:
        raise Forbidden(_("A repost has only a text."))
    words = PostContent.objects.get(pk=post_id)
    if words.is_note_of_staff:
        return False
    taken = (BLURRED if words.sensitive else SHARP) + words.note
    _write(post, words, line, sensitive=True, of_staff=True)
    accounts_actions.record_act(
        accounts_actions.ActKind.NOTE,
        post.author,
        actor,
        grounds,
        subject_id=post_id,
        taken=taken,
    )
    detail = {"author": str(post.author_id)} | grounds.detail
    accounts_actions.note(actor, accounts_actions.Act.NOTE, "post", post_id, detail, address)
    return True


def take_note(post_id: int, taken: str) -> None:
    """Put back the note and the blur that the author chose. Runs in the transaction of the undo."""
    post = Post.objects.select_for_update().filter(pk=post_id, is_deleted=False).first()
    if post is None:
        return
    words = PostContent.objects.get(pk=post_id)
    if words.is_note_of_staff:
        _write(post, words, taken[1:], sensitive=taken[0] == BLURRED, of_staff=False)


def _write(post: Post, words: PostContent, note: str, *, sensitive: bool, of_staff: bool) -> None:
    keep_version(post, words)
    words.note, words.sensitive, words.is_note_of_staff = note, sensitive, of_staff
    words.version += 1
    words.edited_at = max(db.now_ms(), words.edited_at or post.position)
    words.save(update_fields=["note", "sensitive", "is_note_of_staff", "version", "edited_at"])
    event = PostEdited(post.pk, post.author_id, version=words.version, narrowed=False)
    events.publish(event)
    transaction.on_commit(partial(cache.edited, post.pk), robust=True)
