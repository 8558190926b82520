"""The post, comment or person that somebody reports, as its reporter sees it."""

from typing import TYPE_CHECKING, TypedDict

from accounts import queries as accounts_queries
from feeds import queries as feeds_queries
from interactions.models import Comment, ReportedKind
from interactions.queries.comments import visible_comment
from relations import queries as relations_queries
from socialsite.core.errors import NotFound
from socialsite.core.text.cuts import shortened

if TYPE_CHECKING:
    from accounts.models import User

PREVIEW_MAX = 280


class Reported(TypedDict):
    """Its author or the person, the beginning of its text, and the post that has it."""

    person: relations_queries.Person
    words: str
    post_id: int | None


def reported(viewer: "User", kind: int, subject_id: int) -> Reported:
    """Return what is reported. Raises NotFound or UserNotFound if the viewer may not see it."""
    words, post_id = "", None
    if kind == ReportedKind.USER:
        owner_id = subject_id
    elif kind == ReportedKind.POST:
        owner_id, post_id = feeds_queries.visible_post(viewer, subject_id).author_id, subject_id
        text = feeds_queries.visible_texts(viewer.pk, [subject_id])[subject_id]
        words = "\n".join(
            part for part in (text.note, text.title, text.plain, text.options) if part
        )
    else:
        comment, post = visible_comment(viewer, subject_id)
        if comment.deleted:
            raise NotFound
        owner_id, post_id = comment.author_id, post.pk
        rows = Comment.objects.filter(pk=subject_id)
        words = rows.values_list("content_row__content", flat=True).get()
    person = relations_queries.profile(viewer, accounts_queries.by_id(owner_id))
    return Reported(person=person, words=shortened(words, PREVIEW_MAX), post_id=post_id)
