"""What finds and shares posts loses one at once: before any event is handled, with warm caches.

The block matrix has every address after blocks and bans; here each way to lose a post meets each
page that lists, finds or shares it. Nothing may say that there is more: no count, no further page.
"""

from collections.abc import Callable, Iterator
from typing import Any

import pytest
from django.test import Client

from accounts import actions as accounts_actions
from accounts.models import User
from feeds import actions as feeds_actions
from feeds.discovery.tags import actions as tag_actions
from feeds.discovery.tags import ranking
from relations import actions as relations_actions

pytestmark = pytest.mark.django_db

Make = Callable[..., Any]
ACTS = ("delete", "ban", "edit", "narrow", "block")
# The post has these words; questions do not repeat the mark, so only the post can show it.
MARK, WORD, TAG = "xylomark", "zebraword", "zebratag"
# Addresses that show everybody what guests see: a block changes nothing there.
SHARED = (
    "/@author/feed.atom",
    f"/tags/{TAG}/feed.atom",
    "/oembed?url=/posts/{post}",
    "/posts/{post}/embed",
    "/sitemap.xml",
)
# What these say about the post is its id.
BY_ID = ("/oembed?url=/posts/{post}", "/sitemap.xml")
SHOWN = (
    f"/api/v1/search/posts?q={WORD}",
    f"/api/v1/search/posts?q={WORD}&sort=new",
    f"/api/v1/search/posts?q=%23{TAG}",
    "/api/v1/search/posts?q=from:author&sort=new",
    f"/api/v1/tags/{TAG}/posts",
    f"/search?q={WORD}",
    f"/search?q=%22{WORD}%22&sort=new",
    f"/tags/{TAG}",
    "/@author",
    "/posts/{post}",
    "/recommended",
)
OF_MEMBERS = ("/api/v1/feed/tags", "/tags")
# These count public posts, and are the same for everybody.
COUNTS = (f"/api/v1/tags/{TAG}", f"/tags/{TAG}")
NAMED = (
    f"/api/v1/tags?q={TAG[:5]}",
    "/api/v1/tags/trending",
    f"/search?q={TAG[:5]}&tab=tags",
    f"/completions?word=%23{TAG[:5]}",
    "/recommended",
)


@pytest.fixture
def author(make_user: Make) -> User:
    return make_user("author")


@pytest.fixture
def post(author: User, drain: Make) -> int:
    """The newest post of an author with another one; caches, index and ranking know both."""
    feeds_actions.publish(author, content="another post")
    made: int = feeds_actions.publish(author, content=f"{MARK} {WORD} #{TAG}").pk
    drain()
    ranking.rank()
    return made


@pytest.fixture
def reader(make_user: Make, author: User) -> User:
    """Somebody who follows the tag, but not the author."""
    person: User = make_user("reader")
    tag_actions.follow(person, TAG)
    return person


def browser(user: User | None) -> Client:
    client = Client()
    if user is not None:
        client.cookies["access"] = accounts_actions.sign_in(user, "chrome").access
    return client


def lose(act: str, author: User, reader: User, post: int) -> None:
    """Take the post from everybody who does not follow the author; `block` from the reader."""
    if act == "delete":
        feeds_actions.delete(author, post)
    elif act == "ban":
        accounts_actions.ban(author)
    elif act == "edit":
        feeds_actions.edit(author, post, 1, content="other words")
    elif act == "narrow":
        feeds_actions.edit(author, post, 1, visibility="followers")
    else:
        relations_actions.block(author, reader)


def text(client: Client, address: str, post: int) -> str:
    """Return what an address answers. Only a refusal may repeat the id that it was asked for."""
    answer = client.get(address.format(post=post))
    assert answer.status_code < 500, address
    shown = answer.content.decode()
    return shown.replace(str(post), "") if answer.status_code == 404 else shown


def asked(act: str) -> Iterator[tuple[str, str]]:
    """Yield the addresses that lose the post by an act, each with what it says of the post."""
    by_words = act == "edit"
    for address in SHOWN + OF_MEMBERS:
        yield address, MARK
    for address in SHARED if act != "block" else ():
        if not (by_words and address in BY_ID):
            yield address, "{post}" if address in BY_ID else MARK


@pytest.mark.parametrize("act", ACTS)
def test_a_lost_post_is_nowhere_at_once(
    act: str, author: User, reader: User, post: int, drain: Make
) -> None:
    guest, member = browser(None), browser(reader)
    clients = [(member, address, mark) for address, mark in asked(act)]
    if act != "block":
        clients += [(guest, address, mark) for address, mark in asked(act)]
    # Guests have no timeline of tags.
    clients = [one for one in clients if one[0] is member or one[1] not in OF_MEMBERS]
    for client, address, mark in clients:
        assert mark.format(post=post) in text(client, address, post), f"{address} proves nothing"
    lose(act, author, reader, post)
    for moment in ("at once", "later"):
        for client, address, mark in clients:
            shown = text(client, address, post)
            assert mark.format(post=post) not in shown, f"{moment}: {address}"
        drain()


@pytest.mark.parametrize("act", [act for act in ACTS if act != "block"])
def test_no_count_and_no_suggestion_tells_of_a_lost_post(
    act: str, author: User, reader: User, post: int, drain: Make
) -> None:
    member = browser(reader)
    for address in NAMED:
        assert TAG in text(member, address, post), f"{address} proves nothing"
    assert member.get(COUNTS[0]).json()["count_week"] == 1
    lose(act, author, reader, post)
    for _moment in range(2):
        for address in NAMED:
            assert TAG not in text(member, address, post), address
        counted = member.get(COUNTS[0]).json()
        assert (counted["count_day"], counted["count_week"], sum(counted["days"])) == (0, 0, 0)
        drain()


@pytest.mark.parametrize("act", ACTS)
@pytest.mark.parametrize("sort", ["top", "new"])
def test_no_further_page_tells_of_lost_posts(
    act: str, sort: str, author: User, reader: User, make_user: Make, drain: Make
) -> None:
    """Ten posts are left, and a page shows ten: the lost ones behind them would be a next page."""
    other = make_user()
    hidden = [feeds_actions.publish(author, content=f"{WORD} #{TAG}").pk for _ in range(3)]
    for _ in range(10):
        feeds_actions.publish(other, content=f"{WORD} {WORD} #{TAG}")
    drain()
    member = browser(reader)
    paths = (f"search/posts?q={WORD}&sort={sort}", f"tags/{TAG}/posts?", "feed/tags?")
    pages = [f"/api/v1/{path}&size=10" for path in paths]
    for page in pages:
        assert member.get(page).json()["next"] is not None
    for post in hidden if act not in ("ban", "block") else hidden[:1]:
        lose(act, author, reader, post)
    for page in pages:
        answer = member.get(page).json()
        assert (len(answer["items"]), answer["next"]) == (10, None), page
