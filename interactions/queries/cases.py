"""Reads of staff about reported objects: deleted ones too, whoever may see them."""

from collections.abc import Collection
from typing import Any, NamedTuple, TypedDict

from django.db.models import Q

from accounts import queries as accounts_queries
from accounts.models import User
from feeds import staff_queries
from interactions.models import Case, Comment, ReportedKind, SubjectType
from socialsite.core.errors import TwoFactorNeeded
from socialsite.core.models import Media
from socialsite.core.rights import Right

# Comments above a reported one, besides the root of its thread; direct answers to it.
ABOVE, ANSWERS = 10, 20


class CaseComment(TypedDict):
    """A comment as staff see it; times are Unix ms, `edited_at` is None until the first edit."""

    id: int
    author: Any
    content: str
    position: int
    edited_at: int | None
    deleted: bool


class CaseThread(NamedTuple):
    """A reported comment: its post, the comments above it from the root on, its first answers.

    `gap` says that comments between the root and the others are left out, `more` that there are
    more answers.
    """

    post_id: int
    above: list[CaseComment]
    gap: bool
    comment: CaseComment
    answers: list[CaseComment]
    more: bool


def case_thread(comment_id: int) -> CaseThread | None:
    """Return a comment with its thread; None if there is no such comment."""
    parents = [f"{'parent__' * number}parent_id" for number in range(ABOVE)]
    # One row by primary keys: as many joins as there are comments above.
    rows = Comment.objects.filter(pk=comment_id)
    found = rows.values_list("subject__subj_id", "root_id", *parents).first()
    if found is None:
        return None
    post_id, root_id, *chain = found
    above = [ident for ident in reversed(chain) if ident is not None]
    gap = root_id is not None and root_id not in above
    if gap:
        above.insert(0, root_id)
    ids = [*above, comment_id]
    comments = {one["id"]: one for one in _comments(Q(pk__in=ids), len(ids))}
    answers = _comments(Q(parent_id=comment_id), ANSWERS + 1)
    return CaseThread(
        post_id=post_id,
        above=[comments[ident] for ident in above if ident in comments],
        gap=gap,
        comment=comments[comment_id],
        answers=answers[:ANSWERS],
        more=len(answers) > ANSWERS,
    )


def _comments(which: Q, most: int) -> list[CaseComment]:
    """Return comments, the oldest first."""
    columns = ("id", "author_id", "content_row__content", "position", "content_row__edited_at")
    rows = Comment.objects.filter(which).order_by("position", "id")
    found = list(rows.values_list(*columns, "deleted")[:most])
    people = accounts_queries.cards({author for _, author, *_ in found}, closed=True)
    return [
        CaseComment(
            id=ident,
            author=people.get(author),
            content=content or "",
            position=position,
            edited_at=edited_at,
            deleted=deleted,
        )
        for ident, author, content, position, edited_at, deleted in found
    ]


def case_shows(picture: Media, viewer_id: int) -> bool:
    """Return whether a reader is of staff and there is a case about what shows a picture.

    Those are the pictures and videos of posts with a case, or with a case about a comment on them,
    and the avatar and banner of a person with one.
    """
    viewer = User.objects.active().filter(pk=viewer_id).first()
    try:
        if viewer is None or not accounts_queries.moderates(viewer, Right.CASES):
            return False
    except TwoFactorNeeded:
        return False
    posts = staff_queries.with_media(picture.pk)
    return (bool(posts) and _have_case(posts)) or _is_of_reported_person(picture)


def _have_case(post_ids: Collection[int]) -> bool:
    if Case.objects.filter(kind=ReportedKind.POST, subject_id__in=post_ids).exists():
        return True
    comments = Comment.objects.filter(
        subject__subj_type=SubjectType.POST, subject__subj_id__in=post_ids
    )
    cases = Case.objects.filter(kind=ReportedKind.COMMENT)
    return comments.filter(pk__in=cases.values("subject_id")).exists()


def _is_of_reported_person(picture: Media) -> bool:
    names = picture.file_names()
    shown = Q(avatar_name__in=names) | Q(banner_name__in=names)
    if not User.objects.filter(shown, pk=picture.owner_id).exists():
        return False
    return Case.objects.filter(kind=ReportedKind.USER, subject_id=picture.owner_id).exists()
