"""A person with everything that the statements of the site are about."""

from typing import Any

import pytest

from relations import actions as relations_actions
from socialsite.tests.sharding.addresses import Route


@pytest.fixture
def world(make_user: Any, make_post: Any, drain: Any) -> dict[str, Any]:
    """A reader with friends, followers, followed and blocked people, and posts of all."""
    from accounts import actions as accounts_actions
    from feeds.discovery.tags import actions as tag_actions
    from feeds.drafts import actions as draft_actions
    from interactions import actions as interactions_actions
    from interactions.models import SubjectType

    me, friend, fan, idol, enemy = (make_user() for _ in range(5))
    for one, two in ((me, friend), (friend, me), (fan, me), (me, idol), (friend, fan)):
        relations_actions.follow(one, two)
    relations_actions.block(me, enemy)
    drain()
    poll = {"options": ["tea", "milk"], "multiple": False, "ends_at": None, "lasts": 3600}
    for person in (me, friend, idol, enemy):
        make_post(person)
    asked = make_post(friend, "hello #cats", poll=poll)
    drain()
    tag_actions.follow(me, "cats")
    below = interactions_actions.comment(friend, asked.pk, "hello")
    for subj_type, subj_id in ((SubjectType.POST, asked.pk), (SubjectType.COMMENT, below.pk)):
        interactions_actions.like(fan, subj_type, subj_id)
    interactions_actions.vote(fan, asked.pk, [1])
    drain()

    def fresh(route: Route, *, own: bool) -> dict[str, str]:
        """Return the parts of an address, of new things: of one's own post, or of a friend's."""
        post = make_post(me, "hello #cats") if own else asked
        comment = interactions_actions.comment(me, post.pk, "hello")
        draft = draft_actions.create(me, {"content": "some day"})
        pair = accounts_actions.sign_in(me) if "refresh" in route.path else None
        drain()
        return {
            "user_id": str(friend.pk),
            "username": friend.username,
            "post_id": str(post.pk),
            "comment_id": str(comment.pk),
            "draft_id": str(draft.pk),
            "name": "cats",
            "kind": "post",
            "subject_id": str(asked.pk),
            "refresh": pair.refresh if pair else "",
        }

    return {"me": me, "friend": friend, "fresh": fresh, "post": asked}
