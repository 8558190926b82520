"""Create, edit and delete comments.

`Subject.comment_count` and `Comment.reply_count` change in the transaction of the comment, and only
if its row was really written.
"""

import unicodedata
from typing import TYPE_CHECKING

from django.db.models import F
from django.utils.translation import gettext_lazy as _

from accounts import actions as accounts_actions
from accounts import queries as accounts_queries
from feeds import queries as feeds_queries
from interactions import cache, queries
from interactions.actions.pins import remove_pin
from interactions.actions.subjects import locked_subject
from interactions.events import CommentDeleted, Commented, CommentEdited, CommentRestored
from interactions.models import Comment, CommentContent, Like, Subject, SubjectType
from socialsite.core import db
from socialsite.core.errors import CommentsClosed, Forbidden, InvalidInput, NotFound, StaleVersion
from socialsite.core.events import publish
from socialsite.core.rights import Right
from socialsite.core.text.fields import checked
from socialsite.core.text.mentions import usernames

if TYPE_CHECKING:
    from accounts.models import User

CLOSED = (Subject.Status.CLOSED, Subject.Status.DELETED)


@db.atomic
def comment(
    user: "User",
    post_id: int,
    content: str,
    parent_id: int | None = None,
    *,
    at_ms: int | None = None,
) -> Comment:
    """Comment on a post, or reply to a comment of it. Publishes Commented.

    `at_ms` (Unix ms, never in the future) is as in `feeds.actions.publish`: not for requests.
    Raises InvalidInput (`content`), NotFound if the person may not see the post or the comment
    replied to, CommentsClosed.
    """
    words = _words(content)
    post = feeds_queries.visible_post(user, post_id)
    subject = locked_subject(post_id)
    if subject.status in CLOSED:
        raise CommentsClosed
    parent = None if parent_id is None else _parent(user, subject, parent_id)
    # Under the lock, so that comments of one post are in the order of their commits.
    now = db.now_ms()
    made = db.insert(
        Comment(
            subject=subject,
            author_id=user.pk,
            root_id=None if parent is None else parent.root_id or parent.pk,
            parent_id=parent_id,
            position=now if at_ms is None else min(at_ms, now),
            attrs=Comment.Attr.BY_AUTHOR if post.author_id == user.pk else 0,
        )
    )
    db.insert(CommentContent(comment=made, content=words))
    subject.comment_count += 1
    subject.save(update_fields=["comment_count", "updated_at"])
    cache.post_changed(post_id)
    _count_reply(made, 1)
    if parent is not None and post.author_id == user.pk != parent.author_id:
        bit = F("attrs").bitor(Comment.Attr.AUTHOR_REPLIED)
        Comment.objects.filter(pk=parent.pk).update(attrs=bit)
    publish(Commented(id=made.pk, post_id=post_id, author_id=user.pk, parent_id=parent_id))
    return made


@db.atomic
def edit_comment(user: "User", comment_id: int, content: str, version: int) -> None:
    """Change the text of one's comment, if it still has this version. Publishes CommentEdited.

    An edit that changes nothing keeps the version; a pinned comment stays pinned. Raises
    InvalidInput (`content`), NotFound if there is no such comment for the person or it is deleted,
    Forbidden if it is somebody else's, CommentsClosed, StaleVersion.
    """
    words = _words(content)
    found, post = queries.visible_comment(user, comment_id)
    if found.author_id != user.pk:
        raise Forbidden
    if locked_subject(post.pk).status in CLOSED:
        raise CommentsClosed
    comment = Comment.objects.select_for_update().get(pk=comment_id)
    if comment.deleted:
        raise NotFound
    text = CommentContent.objects.get(pk=comment_id)
    if text.version != version:
        raise StaleVersion
    if text.content == words:
        return
    named = accounts_queries.ids_by_name(usernames(text.content)).values()
    text.content, text.version = words, version + 1
    text.edited_at = max(db.now_ms(), text.edited_at or comment.position)
    text.save(update_fields=["content", "version", "edited_at"])
    publish(
        CommentEdited(
            id=comment_id,
            post_id=post.pk,
            author_id=user.pk,
            parent_id=comment.parent_id,
            version=text.version,
            named=sorted(named),
        )
    )


@db.atomic
def delete_comment(
    user: "User",
    comment_id: int,
    address: str = "",
    grounds: accounts_actions.Grounds = accounts_actions.NO_GROUNDS,
    *,
    as_staff: bool = False,
) -> Comment:
    """Delete a comment as its author, the post's author, or staff. Publishes CommentDeleted.

    Deleting twice changes nothing. A comment with live replies leaves a tombstone. A deletion by
    staff can be undone (`restore_comment`); the comment's author reads their `grounds`. The post's
    author who is of staff acts `as_staff` where they decide about reports. Raises
    NotFound if there is no such comment for the person, Forbidden if it is not theirs,
    TwoFactorNeeded for staff without two-factor authentication.
    """
    comment = Comment.objects.select_related("subject").filter(pk=comment_id).first()
    if comment is None:
        raise NotFound
    post_id = comment.subject.subj_id
    post_author = _post_author(user, post_id)
    own = user.pk == comment.author_id or (user.pk == post_author and not as_staff)
    if not own and not accounts_queries.moderates(user, Right.CONTENT):
        queries.visible_comment(user, comment_id)
        raise Forbidden
    subject = Subject.objects.select_for_update().get(pk=comment.subject_id)
    comment = Comment.objects.select_for_update().get(pk=comment_id)
    comment.subject = subject
    if comment.deleted:
        if own:
            kind = accounts_actions.ActKind.DELETE_COMMENT
            accounts_actions.keep_removed(kind, comment.author_id, comment_id)
        return comment
    if not own:
        accounts_actions.check_over(user, comment.author, Right.CONTENT)
    _take_out(comment, subject)
    publish(
        CommentDeleted(
            id=comment.pk,
            post_id=post_id,
            author_id=comment.author_id,
            parent_id=comment.parent_id,
        )
    )
    if not own:
        _note_removal(user, comment, post_id, address, grounds)
    return comment


def _take_out(comment: Comment, subject: Subject) -> None:
    """Mark a locked comment as deleted, and update the counts and marks around it."""
    comment.deleted, comment.attrs = True, comment.attrs & Comment.Attr.BY_AUTHOR
    comment.save(update_fields=["deleted", "attrs"])
    # A wrong count, after a restore for instance, must not prevent deletion (`recount` fixes it).
    subject.comment_count = max(0, subject.comment_count - 1)
    remove_pin(subject, comment.pk)
    subject.save(update_fields=["comment_count", "pins", "updated_at"])
    cache.post_changed(subject.subj_id)
    cache.replies_changed(_above(comment))
    _count_reply(comment, -1)
    # Looked up for any actor: staff may not see the post.
    if comment.attrs & Comment.Attr.BY_AUTHOR:
        _clear_author_reply(comment)


def _note_removal(
    actor: "User",
    comment: Comment,
    post_id: int,
    address: str,
    grounds: accounts_actions.Grounds,
) -> None:
    recorded = accounts_actions.record_act(
        accounts_actions.ActKind.DELETE_COMMENT,
        comment.author,
        actor,
        grounds,
        subject_id=comment.pk,
        taken=accounts_actions.KEPT,
        is_told=False,
    )
    detail = {"author": str(comment.author_id), "post": str(post_id), "act": str(recorded.pk)}
    detail |= grounds.detail
    act = accounts_actions.Act.DELETE_COMMENT
    accounts_actions.note(actor, act, "comment", comment.pk, detail, address)


def restore_comment(comment_id: int, taken: str = "") -> None:
    """Show a comment again that staff deleted. Publishes CommentRestored.

    Runs in the transaction of the undo. A pin does not come back.
    """
    comment = Comment.objects.filter(pk=comment_id).first()
    if comment is None:
        return
    subject = Subject.objects.select_for_update().get(pk=comment.subject_id)
    comment = Comment.objects.select_for_update().get(pk=comment_id)
    if not comment.deleted:
        return
    comment.deleted, comment.attrs = False, _marks_of(comment, subject)
    comment.save(update_fields=["deleted", "attrs"])
    subject.comment_count += 1
    subject.save(update_fields=["comment_count", "updated_at"])
    cache.post_changed(subject.subj_id)
    cache.replies_changed(_above(comment))
    _count_reply(comment, 1)
    if comment.attrs & Comment.Attr.BY_AUTHOR and comment.parent_id is not None:
        bit = F("attrs").bitor(Comment.Attr.AUTHOR_REPLIED)
        answered = Comment.objects.filter(pk=comment.parent_id, deleted=False)
        answered.exclude(author_id=comment.author_id).update(attrs=bit)
    publish(
        CommentRestored(
            id=comment.pk,
            post_id=subject.subj_id,
            author_id=comment.author_id,
            parent_id=comment.parent_id,
        )
    )


def _marks_of(comment: Comment, subject: Subject) -> int:
    """Return the bits of a restored comment: what the author of the post did to it."""
    attrs = comment.attrs & Comment.Attr.BY_AUTHOR
    post = feeds_queries.texts([subject.subj_id]).get(subject.subj_id)
    if post is None or post.author_id == comment.author_id:
        return attrs
    likes = Like.objects.filter(
        subj_type=SubjectType.COMMENT, subj_id=comment.pk, user_id=post.author_id
    )
    replies = Comment.objects.filter(parent_id=comment.pk, author_id=post.author_id, deleted=False)
    attrs |= Comment.Attr.AUTHOR_LIKED if likes.exists() else 0
    return attrs | (Comment.Attr.AUTHOR_REPLIED if replies.exists() else 0)


def _parent(user: "User", subject: Subject, parent_id: int) -> Comment:
    """Return the comment replied to: in this subject, alive, its author visible to the person."""
    found, _post = queries.visible_comment(user, parent_id)
    if found.subject_id != subject.pk or found.deleted:
        raise NotFound
    return found


def _above(comment: Comment) -> set[int]:
    """Return the thread's root and the reply that was answered; nothing for a root."""
    return {ident for ident in (comment.root_id, comment.parent_id) if ident is not None}


def _count_reply(comment: Comment, by: int) -> None:
    """Change `reply_count` of the thread's root, and of the reply that was answered."""
    above = _above(comment)
    if above:
        rows = Comment.objects.filter(pk__in=above)
        if by < 0:
            rows = rows.filter(reply_count__gt=0)
        rows.update(reply_count=F("reply_count") + by)


def _clear_author_reply(comment: Comment) -> None:
    """Clear the bit of the answered comment if this was the author's last answer to it."""
    if comment.parent_id is None:
        return
    others = Comment.objects.filter(
        subject_id=comment.subject_id,
        root_id=comment.root_id,
        parent_id=comment.parent_id,
        author_id=comment.author_id,
        deleted=False,
    )
    if not others.exists():
        keep = sum(Comment.Attr) - Comment.Attr.AUTHOR_REPLIED
        Comment.objects.filter(pk=comment.parent_id).update(attrs=F("attrs").bitand(keep))


def _post_author(user: "User", post_id: int) -> int | None:
    """Return the id of the post's author; None if the person may not see the post."""
    try:
        return feeds_queries.visible_post(user, post_id).author_id
    except NotFound:
        return None


def _words(content: str) -> str:
    """Return the text of a comment; raises InvalidInput unless it has 1 to TEXT_MAX characters."""
    if any(c == "\0" or unicodedata.category(c) == "Cs" for c in content):
        raise InvalidInput(
            fields={"content": [_("This text has characters that cannot be stored.")]}
        )
    return checked(content, "content", CommentContent.TEXT_MAX, _("Write something."))
