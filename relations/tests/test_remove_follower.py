"""Remove a follower: their follow ends, the other direction stays, hidden people stay hidden."""

from collections.abc import Callable
from typing import Any

import pytest
from django.test import Client

from accounts import actions as accounts_actions
from accounts.models import User
from accounts.tests.browsers import browser_of
from feeds.tests.exactness.oracle import assert_whole
from relations import actions, queries
from relations.models import Relation, RelationLog
from relations.pairs import states
from relations.tests.helpers import bring
from socialsite.core.errors import SelfRelation
from socialsite.core.events import relay

pytestmark = pytest.mark.django_db
Make = Callable[..., Any]


@pytest.fixture
def fan(make_user: Make, me: User) -> User:
    person: User = make_user()
    actions.follow(person, me)
    return person


def remove(api_for: Make, me: User, person: User) -> Any:
    return api_for(me).delete(f"/api/v1/users/{person.pk}/follower")


def test_a_removed_follower_follows_no_more(
    me: User, fan: User, api_for: Make, make_post: Make
) -> None:
    make_post(me, visibility="followers")
    relay.relay()
    assert remove(api_for, me, fan).json() == {"relation": None}
    assert_whole(fan)
    assert queries.relation(fan.pk, me.pk) is None
    relay.relay()
    assert queries.counts(me.pk)["followers"] == 0
    assert queries.counts(fan.pk)["following"] == 0
    # Again: nothing changes.
    assert remove(api_for, me, fan).json() == {"relation": None}
    assert RelationLog.objects.filter(actor=fan).count() == 2
    last = RelationLog.objects.filter(actor=fan).order_by("version").last()
    assert last is not None
    assert (last.action, last.before, last.after) == (actions.REMOVE, Relation.FOLLOWING, None)


def test_my_own_follow_stays(me: User, fan: User, api_for: Make) -> None:
    actions.follow(me, fan)
    assert remove(api_for, me, fan).json() == {"relation": "FOLLOWING"}
    assert queries.relation(fan.pk, me.pk) is Relation.FOLLOWED


def test_a_removed_follower_may_follow_again(me: User, fan: User) -> None:
    actions.remove_follower(me, fan)
    assert actions.follow(fan, me) is Relation.FOLLOWING


@pytest.mark.parametrize("state", [None, *Relation])
def test_every_state_loses_only_their_follow(
    state: Relation | None, me: User, make_user: Make, api_for: Make
) -> None:
    other = make_user()
    bring(me, other, state)
    answer = remove(api_for, me, other)
    if state in (Relation.BLACKLISTED, Relation.BI_BLACKLISTING):
        assert (answer.status_code, answer.json()["code"]) == (404, 1)
        assert queries.relation(me.pk, other.pk) is state
        return
    after = state
    if state is not None and states.is_followed(state):
        after = Relation.FOLLOWING if states.follows(state) else None
    assert answer.json() == {"relation": queries.name(after)}
    assert queries.relation(me.pk, other.pk) is after


def test_a_banned_follower_can_be_removed_and_other_hidden_people_do_not_exist(
    me: User, fan: User, make_user: Make, api_for: Make
) -> None:
    stranger = make_user()
    for person in (fan, stranger):
        accounts_actions.ban(person)
    assert remove(api_for, me, fan).json() == {"relation": None}
    unknown = remove(api_for, me, User(pk=1))
    assert unknown.json() == remove(api_for, me, stranger).json()
    assert (unknown.status_code, unknown.json()["code"]) == (404, 1)
    with pytest.raises(SelfRelation):
        actions.remove_follower(me, me)


def test_the_pages_work_without_scripts(me: User, fan: User) -> None:
    browser: Client = browser_of(me)
    page = browser.get(f"/@{me.username}/followers").text
    assert f"/@{fan.username}/remove" in page
    question = browser.get(f"/@{fan.username}/remove?next=/notifications").text
    assert 'value="/notifications"' in question
    assert queries.relation(fan.pk, me.pk) is Relation.FOLLOWING
    answer = browser.post(f"/@{fan.username}/remove", {"next": "/notifications"})
    assert (answer.status_code, answer.url) == (303, "/notifications")  # type: ignore[attr-defined]
    assert queries.relation(fan.pk, me.pk) is None
    assert f"/@{fan.username}/remove" not in browser.get(f"/@{fan.username}").text
    assert browser.get("/@nobody99/remove").status_code == 404


def test_htmx_gets_the_button_in_its_new_state(me: User, fan: User) -> None:
    headers = {"HX-Request": "true"}
    answer = browser_of(me).post(f"/@{fan.username}/remove", headers=headers)
    assert answer.status_code == 200
    assert "Follow back" not in answer.text
