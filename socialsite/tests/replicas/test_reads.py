"""Who answers a read, and what a replica that is behind can do to a page: hide, never show."""

import signal
from collections.abc import Callable
from typing import Any

import pytest
from django.contrib.auth.models import AnonymousUser
from django.db import connections, transaction

from accounts.models import User
from deploy.services.replication import Pair
from feeds import actions, queries
from feeds.discovery import public_posts
from feeds.discovery.search import language
from feeds.discovery.search import queries as search
from feeds.discovery.tags import queries as tags
from feeds.models import Post, Visibility
from relations import queries as relations_queries
from socialsite.core.db import replicas, routing
from socialsite.core.db.replicas import Freshness
from socialsite.core.runtime import database_settings
from socialsite.tests.replicas.conftest import DATABASES

pytestmark = [pytest.mark.django_db(transaction=True, databases=DATABASES), pytest.mark.full]

Answered = Callable[[], dict[str, int]]
GUEST = AnonymousUser()
STAND_STILL = "STOP SLAVE SQL_THREAD"


@pytest.fixture
def patience(monkeypatch: pytest.MonkeyPatch) -> None:
    """Wait for the replica as long as a busy machine needs."""
    monkeypatch.setattr(replicas, "PATIENCE_SECONDS", 600.0)


def found(viewer: Any, text: str) -> list[str]:
    """Return the words of the posts that a search finds."""
    page = search.newest(viewer, language.parse(text), None, 10)
    return [card["content"] for card in page.items]


def test_a_replica_that_has_everything_answers_people_and_guests(
    pair: Pair, make_user: Any, make_post: Any, drain: Any, answered: Answered, patience: None
) -> None:
    me = make_user()
    make_post(me, "quokka one")
    drain()
    pair.catch_up()
    answered()
    assert found(me, "quokka") == found(GUEST, "quokka") == ["quokka one"]
    assert answered() == {"replica": 2, "primary": 0}


def test_while_the_replica_is_behind_the_primary_answers_people(
    pair: Pair, make_user: Any, make_post: Any, drain: Any, answered: Answered
) -> None:
    me, other = make_user(), make_user()
    pair.tell(STAND_STILL)
    make_post(me, "numbat one")
    drain()
    answered()
    assert found(me, "numbat") == found(other, "numbat") == ["numbat one"]
    assert answered() == {"replica": 0, "primary": 2}


def test_a_guest_may_miss_what_is_new(
    pair: Pair, make_user: Any, make_post: Any, drain: Any, answered: Answered
) -> None:
    me = make_user()
    assert found(GUEST, "bilby") == []
    pair.tell(STAND_STILL)
    make_post(me, "bilby #bilby")
    drain()
    answered()
    tag = tags.named("bilby")
    assert found(GUEST, "bilby") == []
    assert tags.posts(GUEST, tag, None, 10).items == []
    assert queries.profile_posts(GUEST, me.pk, None, 10).items == []
    assert answered() == {"replica": 3, "primary": 0}
    pair.catch_up()
    replicas.forget()
    assert len(found(GUEST, "bilby")) == 1
    assert len(tags.posts(GUEST, tag, None, 10).items) == 1
    assert len(queries.profile_posts(GUEST, me.pk, None, 10).items) == 1


def test_no_guest_sees_what_is_gone_and_none_an_older_version(
    pair: Pair, make_user: Any, make_post: Any, drain: Any, answered: Answered
) -> None:
    me = make_user()
    deleted, narrowed, edited = (make_post(me, f"potoroo {number} #potoroo") for number in range(3))
    drain()
    pair.catch_up()
    assert len(found(GUEST, "potoroo")) == 3
    pair.tell(STAND_STILL)
    actions.delete(me, deleted.pk)
    actions.edit(me, narrowed.pk, version=1, visibility=Visibility.FOLLOWERS)
    actions.edit(me, edited.pk, version=1, content="potoroo anew #potoroo")
    drain()
    answered()
    tag = tags.named("potoroo")
    assert found(GUEST, "potoroo") == ["potoroo anew #potoroo"]
    for page in (
        tags.posts(GUEST, tag, None, 10),
        queries.profile_posts(GUEST, me.pk, None, 10),
        public_posts.recommended(GUEST, None, 10),
    ):
        mine = [card["content"] for card in page.items if card["author"]["id"] == str(me.pk)]
        assert mine == ["potoroo anew #potoroo"]
    assert answered() == {"replica": 4, "primary": 0}


def test_a_replica_too_far_behind_answers_nobody(
    pair: Pair, make_user: Any, make_post: Any, drain: Any, answered: Answered
) -> None:
    me = make_user()
    pair.catch_up()
    pair.tell(STAND_STILL)
    make_post(me, "dunnart")
    drain()
    replicas.forget()  # so nobody knows that it had everything a moment ago
    answered()
    assert found(GUEST, "dunnart") == ["dunnart"]
    assert answered() == {"replica": 0, "primary": 1}


def test_people_are_found_on_a_replica_and_shown_by_their_present_names(
    pair: Pair, make_user: Any, drain: Any, answered: Answered
) -> None:
    wombat = make_user("wombat", nickname="Vombatus")
    drain()
    pair.catch_up()
    answered()
    assert [one["id"] for one in relations_queries.search_people(GUEST, "vomb").items] == [
        str(wombat.pk)
    ]
    assert answered()["replica"] == 1
    pair.tell(STAND_STILL)
    User.objects.filter(pk=wombat.pk).update(nickname="Other", nickname_key="other")
    assert relations_queries.search_people(GUEST, "vomb").items == []


def test_a_transaction_reads_its_own_writes(pair: Pair, answered: Answered) -> None:
    with transaction.atomic():
        alias = replicas.read(Freshness.NOW, lambda: routing.read_connection().alias)
    assert alias == "default"
    assert answered() == {"replica": 0, "primary": 0}


def test_writes_and_locks_go_to_the_primary_wherever_reads_go(pair: Pair, make_user: Any) -> None:
    me = make_user()
    pair.catch_up()
    with routing.reading_from("replica0"):
        assert User.objects.get(pk=me.pk)._state.db == "replica0"
        read = User.objects.get(pk=me.pk)
        read.bio = "written"
        read.save()
        with transaction.atomic():
            assert User.objects.select_for_update().get(pk=me.pk)._state.db == "default"
    assert User.objects.get(pk=me.pk).bio == "written"


def test_the_replica_takes_no_writes_of_the_site(pair: Pair) -> None:
    with pytest.raises(Exception, match="read-only"), connections["replica0"].cursor() as cursor:
        cursor.execute("DELETE FROM feeds_post")


def test_a_replica_that_ended_is_left_alone_for_a_while(
    pair: Pair, make_user: Any, make_post: Any, drain: Any, answered: Answered, patience: None
) -> None:
    me = make_user()
    make_post(me, "kowari")
    drain()
    pair.catch_up()
    assert found(me, "kowari") == found(GUEST, "kowari") == ["kowari"]
    pair.replica.kill()
    try:
        answered()
        assert found(me, "kowari") == found(GUEST, "kowari") == ["kowari"]
        assert answered() == {"replica": 0, "primary": 2}
        assert not replicas._state.all["replica0"].may_be_asked()
    finally:
        pair.replica.start()


def test_a_read_that_fails_on_a_replica_runs_on_the_primary(pair: Pair, answered: Answered) -> None:
    def read() -> str:
        if routing.read_connection().alias != "default":
            Post.objects.extra(where=["no_such_column = 1"]).exists()
        return routing.read_connection().alias

    assert replicas.read(Freshness.NOW, read) == "default"
    assert answered() == {"replica": 0, "primary": 1}


def test_a_task_waits_for_a_replica_that_is_behind(
    pair: Pair, make_user: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    pair.tell(STAND_STILL)
    make_user()
    value = replicas.value

    def start_then_ask(alias: str, sql: str, *values: object) -> object:
        if alias == "replica0":
            pair.tell("START SLAVE SQL_THREAD")
        return value(alias, sql, *values)

    monkeypatch.setattr(replicas, "value", start_then_ask)
    assert replicas.TASK_PATIENCE_SECONDS < database_settings.PATIENT_SECONDS
    monkeypatch.setattr(replicas, "TASK_PATIENCE_SECONDS", 60.0)
    alias = replicas.read_for_task(lambda: routing.read_connection().alias)
    assert alias == "replica0_patient"


def test_a_replica_that_stands_still_holds_a_request_for_a_bounded_time(
    pair: Pair, make_user: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    options = connections.settings["replica0"]["OPTIONS"]
    monkeypatch.setitem(options, "read_timeout", 5)
    make_user()
    pair.catch_up()

    def read() -> str:
        return str(replicas.read(Freshness.NOW, lambda: routing.read_connection().alias))

    assert read() == "replica0"
    pair.replica.kill(signal.SIGSTOP)
    try:
        assert read() == "default"
    finally:
        pair.replica.kill(signal.SIGCONT)


def test_a_replica_that_is_too_late_for_people_still_answers_guests(
    pair: Pair, make_user: Any, make_post: Any, drain: Any, answered: Answered
) -> None:
    me = make_user()
    pair.catch_up()
    assert found(GUEST, "mulgara") == []
    pair.tell(STAND_STILL)
    make_post(me, "mulgara")
    drain()
    assert found(me, "mulgara") == ["mulgara"]
    answered()
    assert found(GUEST, "mulgara") == []
    assert answered() == {"replica": 1, "primary": 0}


def test_the_page_of_a_tag_has_no_post_that_lost_it(
    pair: Pair, make_user: Any, make_post: Any, drain: Any, answered: Answered
) -> None:
    me = make_user()
    posts = [make_post(me, f"{number} #antechinus") for number in range(4)]
    drain()
    pair.catch_up()
    tag = tags.named("antechinus")
    assert len(tags.posts(GUEST, tag, None, 2).items) == 2
    pair.tell(STAND_STILL)
    for post in posts[2:]:
        actions.edit(me, post.pk, version=1, content="nothing")
    drain()
    answered()
    page = tags.posts(GUEST, tag, None, 2)
    assert [card["content"] for card in page.items] == ["1 #antechinus", "0 #antechinus"]
    assert page.next is None
    assert answered()["primary"] == 0


@pytest.mark.parametrize(
    ("here", "there", "covered"),
    [
        ("0-1-42", "0-1-42", True),
        ("0-1-42", "0-2-41", True),
        ("0-1-41", "0-1-42", False),
        ("0-1-42,7-3-5", "0-1-42", True),
        ("0-1-42,7-3-5", "7-3-6,0-1-40", False),
        ("0-1-42", "0-1-42,7-3-5", False),
        ("", "0-1-1", False),
        ("0-1-42", "", False),
    ],
    ids=str,
)
def test_a_position_covers_another_in_all_of_its_domains(
    here: str, there: str, covered: bool
) -> None:
    assert replicas.Position.read(here).covers(replicas.Position.read(there)) is covered


def test_a_post_that_became_quiet_is_in_no_list_in_which_posts_are_discovered(
    pair: Pair, make_user: Any, make_post: Any, drain: Any, answered: Answered
) -> None:
    me = make_user()
    post = make_post(me, "quoll #quoll")
    drain()
    pair.catch_up()
    tag = tags.named("quoll")
    found(GUEST, "quoll")
    pair.tell(STAND_STILL)
    actions.edit(me, post.pk, version=1, visibility=Visibility.QUIET)
    drain()
    answered()
    assert found(GUEST, "quoll") == []
    assert tags.posts(GUEST, tag, None, 10).items == []
    shown = [card["id"] for card in public_posts.recommended(GUEST, None, 10).items]
    shown += [str(ident) for ident, _name in public_posts.newest_public(100)]
    assert str(post.pk) not in shown
    assert answered()["primary"] == 0
