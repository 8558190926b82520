"""Imports of posts: what comes of an archive, once, quietly, and its undo."""

import io
import json
import zipfile
from collections.abc import Callable
from datetime import timedelta
from typing import Any

import pytest
from django.core.files.uploadedfile import SimpleUploadedFile
from django.utils import timezone
from PIL import Image

from accounts.models import User
from feeds import actions as feeds_actions
from feeds import queries as feeds_queries
from feeds.content.polls.definition import Given
from feeds.models import Post, PostContent
from feeds.tests.exactness import oracle
from interactions.models import Notification
from relations import actions
from socialsite import imports, tasks
from socialsite.core.imports import files, jobs
from socialsite.core.media import disk_space, encoding, pictures
from socialsite.core.media.videos import jobs as video_jobs
from socialsite.core.models import Import, Media
from socialsite.core.tests.media.videos import samples
from socialsite.tests.imports.test_people import _die, _killer, get, step
from socialsite.tests.support.pictures import picture

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("media_root")]

Make = Callable[..., Any]
V1 = "/api/v1/"
SITE = "https://testserver"
HOUR = 3_600_000
AT = 1_600_000_000_123
PUBLIC = "https://www.w3.org/ns/activitystreams#Public"
ACTOR = "https://old.example/users/alice"


@pytest.fixture(autouse=True)
def host(settings: Any) -> None:
    settings.SITE_URL = SITE


@pytest.fixture
def alice(make_user: Make) -> User:
    return make_user("alice1")


@pytest.fixture
def bob(make_user: Make) -> User:
    return make_user("bob123")


def checked(api: Any, data: bytes, kind: str = "posts") -> str:
    form = {"kind": kind, "file": SimpleUploadedFile("a.zip", data)}
    answer = api.post(f"{V1}imports", form, format="multipart")
    assert answer.status_code == 202, answer.content
    tasks.run_imports()
    return str(answer.json()["id"])


def exported(api: Any) -> bytes:
    ident = api.post(f"{V1}exports").json()["id"]
    tasks.build_exports()
    url = api.get(f"{V1}exports/{ident}").json()["url"]
    return b"".join(api.get(url).streaming_content)


def archive(posts: Any, site: str | None = SITE, members: dict[str, bytes] | None = None) -> bytes:
    target = io.BytesIO()
    with zipfile.ZipFile(target, "w", zipfile.ZIP_DEFLATED) as file:
        if site is not None:
            file.writestr("data/archive.json", json.dumps({"site": site}))
        text = posts if isinstance(posts, str) else json.dumps(posts)
        file.writestr("data/posts.json", text)
        for name, data in (members or {}).items():
            file.writestr(name, data)
    return target.getvalue()


def told(ident: int, **fields: Any) -> dict[str, Any]:
    """Return a post as an archive has it."""
    whole = {
        "id": str(ident),
        "kind": "micro",
        "visibility": "public",
        "at": f"2020-01-01T00:00:{ident % 60:02d}.123Z",
        "content": f"post {ident}",
    }
    return whole | fields


def publish_all(author: User) -> None:
    (image,) = pictures.store_all(author.pk, [(io.BytesIO(picture()), "a cat")])
    poll = Given(options=["yes", "no"], multiple=True, ends_at=AT + HOUR, lasts=None)
    first = feeds_actions.publish(author, content="hello 👩‍👩‍👧 مرحبا", at_ms=AT)
    feeds_actions.publish(author, content="pic", images=[image.pk], sensitive=True, at_ms=AT + 1)
    feeds_actions.publish(author, content="noted", note="careful", poll=poll, at_ms=AT + 2)
    for number, visibility in enumerate(("quiet", "followers", "self")):
        feeds_actions.publish(author, content="x", visibility=visibility, at_ms=AT + 3 + number)
    long = "# A\n\n" + "word @bob123 " * 3000
    feeds_actions.publish(author, kind="article", title="Long", content=long, at_ms=AT + 6)
    link = "https://video.example/a.mp4"
    feeds_actions.publish(author, kind="video", video_url=link, at_ms=AT + 7)
    feeds_actions.repost(author, first.pk, at_ms=AT + 8)
    feeds_actions.repost(author, first.pk, "as I said", at_ms=AT + 9)


def _data(raw: bytes) -> tuple[list[dict[str, Any]], list[tuple[int, int]]]:
    """Return the posts of an archive, comparable, and the sizes of their pictures."""
    with zipfile.ZipFile(io.BytesIO(raw)) as file:
        posts = sorted(json.loads(file.read("data/posts.json")), key=lambda post: post["at"])
        at = {post["id"]: post["at"] for post in posts}
        sizes = []
        for post in posts:
            del post["id"]
            post["repost_of"] = at.get(post["repost_of"])
            for item in post["media"]:
                sizes.append(Image.open(io.BytesIO(file.read(item["file"]))).size)
                del item["id"], item["file"]
    return posts, sizes


# --- our archive ----------------------------------------------------------------------------------
def test_an_archive_of_this_software_comes_in_as_it_was(
    alice: User, bob: User, api_for: Make, drain: Any
) -> None:
    publish_all(alice)
    drain()
    raw = exported(api_for(alice))
    api = api_for(bob)
    ident = checked(api, raw)
    preview = get(api, ident)["preview"]
    assert (preview["rows"], preview["found"], preview["problems"]) == (10, 10, {})
    assert not Post.objects.filter(author=bob).exists()
    found = step(api, ident, "start")
    assert (found["state"], found["done"], found["failed"]) == ("done", 10, [])
    assert _data(exported(api)) == _data(raw)
    # The second time everything is there.
    again = checked(api, raw)
    assert get(api, again)["preview"]["there_already"] == 10
    assert step(api, again, "start")["done"] == 0
    assert Post.objects.filter(author=bob, is_deleted=False).count() == 10
    assert step(api, ident, "undo")["state"] == "undone"
    drain()
    assert not Post.objects.filter(author=bob, is_deleted=False).exists()
    assert not Media.objects.filter(owner_id=bob.pk).exists()
    assert Post.objects.filter(author=alice, is_deleted=False).count() == 10
    assert list(files.folder().iterdir()) == []


def test_nobody_is_notified_and_feeds_stay_exact(
    alice: User, bob: User, make_user: Make, api_for: Make, drain: Any
) -> None:
    carol = make_user("carol1")
    actions.follow(carol, bob)
    drain()
    Notification.objects.all().delete()
    posts = [told(1, content="hello @carol1"), told(2, kind="repost", repost_of="1", content="")]
    api = api_for(bob)
    ident = checked(api, archive(posts))
    oracle.assert_whole(carol)
    assert step(api, ident, "start")["done"] == 2
    oracle.assert_whole(carol)
    drain()
    oracle.assert_whole(carol)
    assert not Notification.objects.exists()
    step(api, ident, "undo")
    oracle.assert_whole(carol)
    drain()
    oracle.assert_whole(carol)


def test_feeds_are_exact_after_each_row_of_an_import_and_of_its_undo(
    bob: User, make_user: Make, api_for: Make, monkeypatch: pytest.MonkeyPatch
) -> None:
    """No event is delivered meanwhile; each turn makes one row, as if it lasted long."""
    monkeypatch.setattr(jobs, "TURN_SECONDS", 0)
    carol = make_user("carol1")
    actions.follow(carol, bob)
    feeds_actions.publish(bob, content="old", at_ms=AT - 60 * 24 * HOUR)
    posts = [told(n, at=f"20{30 - n}-01-01T00:00:00Z") for n in (9, 7, 12)]
    api = api_for(bob)
    ident = checked(api, archive(posts))
    for name, counts in (("start", (1, 2, 3)), ("undo", (2, 1, 0))):
        assert api.post(f"{V1}imports/{ident}/{name}").status_code == 202
        for count in counts:
            assert jobs.work_off(imports.KINDS)
            assert get(api, ident)["done"] == count
            assert Post.objects.filter(author=bob, is_deleted=False).count() == count + 1
            oracle.assert_whole(carol)
            oracle.assert_whole(bob)


def test_an_undo_takes_edited_posts_and_leaves_what_was_deleted_and_written_since(
    bob: User, api_for: Make, drain: Any
) -> None:
    api = api_for(bob)
    ident = checked(api, archive([told(1), told(2)]))
    assert step(api, ident, "start")["done"] == 2
    first, second = Post.objects.filter(author=bob).order_by("position")
    feeds_actions.edit(bob, first.pk, 1, content="edited")
    feeds_actions.delete(bob, second.pk)
    own = feeds_actions.publish(bob, content="new")
    assert step(api, ident, "undo")["state"] == "undone"
    drain()
    assert [*Post.objects.filter(is_deleted=False).values_list("pk", flat=True)] == [own.pk]


def test_a_repost_of_a_post_of_this_site_comes_and_its_author_is_not_notified(
    alice: User, bob: User, api_for: Make, drain: Any
) -> None:
    shown = feeds_actions.publish(alice, content="here")
    hidden = feeds_actions.publish(alice, content="hidden", visibility="followers")
    posts = [
        told(1, kind="repost", repost_of=str(shown.pk), content=""),
        told(2, kind="repost", repost_of=str(hidden.pk), content="mine"),
    ]
    api = api_for(bob)
    found = step(api, checked(api, archive(posts)), "start")
    assert [(one["row"], one["error"]) for one in found["failed"]] == [(2, "REPOST")]
    drain()
    repost, quote = Post.objects.filter(author=bob).order_by("position")
    assert repost.ref_post_id == shown.pk
    assert (quote.ref_post_id, quote.kind) == (None, "micro")
    assert not Notification.objects.exists()


def test_a_quote_keeps_its_own_audience(alice: User, bob: User, api_for: Make) -> None:
    shown = feeds_actions.publish(alice, content="here")
    for number, visibility in enumerate(("self", "mentioned", "followers", "public")):
        post = told(number, kind="repost", repost_of=str(shown.pk), content=f"q{number}")
        api = api_for(bob)
        step(api, checked(api, archive([post | {"visibility": visibility}])), "start")
    made = Post.objects.filter(author=bob, kind="repost").order_by("position")
    assert [one.visibility for one in made] == ["self", "self", "followers", "public"]


def test_a_large_picture_comes(bob: User, api_for: Make) -> None:
    noise = Image.effect_noise((2900, 2900), 200)
    target = io.BytesIO()
    noise.save(target, "PNG")
    assert 5_000_000 < len(target.getvalue()) < encoding.MAX_BYTES
    media = [{"file": "media/a.png", "alt": ""}]
    api = api_for(bob)
    members = {"media/a.png": target.getvalue()}
    ident = checked(api, archive([told(1, media=media)], members=members))
    assert get(api, ident)["preview"]["partly"] == {}
    found = step(api, ident, "start")
    assert (found["done"], found["failed"]) == (1, [])
    assert Media.objects.count() == 1


def test_an_edited_post_and_a_long_quote_are_known_again(
    alice: User, bob: User, api_for: Make, drain: Any
) -> None:
    post = feeds_actions.publish(bob, content="as it was", at_ms=AT)
    api = api_for(bob)
    raw = exported(api)
    feeds_actions.edit(bob, post.pk, 1, content="as it is")
    assert get(api, checked(api, raw))["preview"]["there_already"] == 1
    quote = told(2, kind="repost", repost_of="77", content="q " * 995)
    data = archive([quote], "https://old.example")
    for already in (0, 1):
        ident = checked(api, data)
        assert get(api, ident)["preview"]["there_already"] == already
        step(api, ident, "start")
    assert Post.objects.filter(author=bob, is_deleted=False).count() == 2


def test_many_files_of_one_post_are_cut(bob: User, api_for: Make) -> None:
    media = [{"file": "media/a.png", "alt": ""}] * 5000
    api = api_for(bob)
    ident = checked(api, archive([told(1, media=media)], members={"media/a.png": picture()}))
    found = step(api, ident, "start")
    assert [(one["error"], one["made"]) for one in found["failed"]] == [("PICTURE", True)]
    assert Media.objects.count() == PostContent.IMAGES_MAX


def test_a_long_text_is_refused_before_any_work_and_leaves_no_large_file(
    bob: User, api_for: Make
) -> None:
    posts = [told(n, content="#a \U0001f600" * 300_000) for n in range(20)]
    api = api_for(bob)
    ident = checked(api, archive(posts))
    assert get(api, ident)["preview"]["problems"] == {"TOO_LONG": 20}
    (rows,) = files.folder().glob("*.rows")
    assert rows.stat().st_size < 200_000


def test_a_video_of_an_archive_comes_by_the_way_of_uploads(
    bob: User, api_for: Make, drain: Any
) -> None:
    media = [{"file": "media/a.mp4", "alt": "a boat"}]
    members = {"media/a.mp4": samples.video()}
    api = api_for(bob)
    ident = checked(api, archive([told(1, kind="video", media=media)], members=members))
    found = step(api, ident, "start")
    assert (found["done"], found["failed"]) == (1, [])
    video_jobs.work_off()
    drain()
    post = Post.objects.get(author=bob)
    card = feeds_queries.post(bob, post.pk)
    assert card["video"] is not None
    assert (card["kind"], card["video"]["state"]) == ("video", "ready")
    step(api, ident, "undo")
    drain()
    assert not Media.objects.exists()


def test_names_and_audiences_of_another_site_lead_to_nobody_here(
    alice: User, bob: User, api_for: Make
) -> None:
    posts = [
        told(1, content="hi @alice1, @alice1你好", visibility="mentioned"),
        told(2, kind="repost", repost_of="77", content="look"),
        told(3, kind="repost", repost_of="78", content=""),
        told(4, visibility="everyone"),
    ]
    api = api_for(bob)
    ident = checked(api, archive(posts, "https://old.example"))
    found = step(api, ident, "start")
    failed = [(one["row"], one["error"], one["made"]) for one in found["failed"]]
    assert failed == [(2, "REPOST", True), (3, "REPOST", False)]
    made = Post.objects.filter(author=bob).order_by("position")
    assert [(one.visibility, one.content_row.content) for one in made] == [
        ("self", "hi @alice1@old.example, @alice1@old.example你好"),
        ("public", "look\n\nhttps://old.example/posts/77"),
        ("self", "post 4"),
    ]


def test_what_cannot_come_is_named(bob: User, api_for: Make) -> None:
    posts = [
        told(1, at="2999-01-01T00:00:00Z"),
        told(2, at="2020-01-01T00:00:00"),
        told(3, at="1960-01-01T00:00:00Z"),
        told(4, at=5),
        told(5, kind="sonnet"),
        told(6, content=["x"]),
        told(7, media=[{"file": "../../etc/passwd", "alt": None}], content=""),
        told(8, media=[{"file": "media/no.jpg", "alt": ""}]),
        told(9, media=[{"file": "media/bad.jpg", "alt": ""}]),
        told(10, content="y" * 60_000, kind="article"),
        told(11, content="z * " * 3000),
        told(12, content="n\0ul"),
    ]
    api = api_for(bob)
    ident = checked(api, archive(posts, members={"media/bad.jpg": b"no picture"}))
    found = step(api, ident, "start")
    assert found["state"] == "done"
    errors = {one["name"].split()[-1]: (one["error"], one["made"]) for one in found["failed"]}
    assert errors["8"] == errors["9"] == ("PICTURE", True)
    assert sorted(one["error"] for one in found["failed"] if not one["made"]) == sorted(
        ["INVALID_TIME"] * 3 + ["INVALID_POST"] * 3 + ["PICTURE", "TOO_LONG"]
    )
    assert found["done"] == 4
    long = Post.objects.get(author=bob, kind="article").content_row
    assert long.content.startswith("z \\* z")
    assert Media.objects.count() == 0


@pytest.mark.parametrize(
    ("data", "error"),
    [
        (b"no zip", "UNREADABLE"),
        (archive("{}"), "UNREADABLE"),
        (archive("[1]"), "UNREADABLE"),
        (archive("[{}"), "UNREADABLE"),
        (archive("[" + '{"a":' * 100), "UNREADABLE"),
        (archive([told(1)])[:-40], "UNREADABLE"),
    ],
    # Archives contain the time at which they were made, which must not be in the name of a test.
    ids=["no zip", "no list", "no objects", "half an object", "too deep", "cut off"],
)
def test_a_broken_archive_fails_with_a_reason(
    bob: User, api_for: Make, data: bytes, error: str
) -> None:
    api = api_for(bob)
    found = get(api, checked(api, data))
    assert (found["state"], found["preview"]) == ("failed", {"error": error})
    assert list(files.folder().iterdir()) == []


def test_the_quota_of_the_person_holds(
    bob: User, api_for: Make, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(disk_space, "NEW_QUOTA_BYTES", 0)
    media = [{"file": "media/a.jpg", "alt": ""}]
    api = api_for(bob)
    ident = checked(api, archive([told(1, media=media)], members={"media/a.jpg": picture()}))
    (failed,) = step(api, ident, "start")["failed"]
    assert (failed["error"], Post.objects.count(), Media.objects.count()) == ("NO_SPACE", 0, 0)


def test_a_suspended_person_imports_nothing(bob: User, api_for: Make) -> None:
    api = api_for(bob)
    ident = checked(api, archive([told(1)]))
    jobs.begin(bob.pk, int(ident))
    User.objects.filter(pk=bob.pk).update(suspended_until=timezone.now() + timedelta(days=1))
    tasks.run_imports()
    assert Import.objects.get().preview["error"] == "SUSPENDED"
    assert not Post.objects.exists()


@pytest.mark.parametrize("at", [1, 2, 3, 4, 5, 6])
def test_a_worker_that_dies_makes_nothing_twice(
    bob: User, api_for: Make, monkeypatch: pytest.MonkeyPatch, drain: Any, at: int
) -> None:
    media = [{"file": "media/a.jpg", "alt": "a"}]
    posts = [told(n, media=media) for n in (1, 2, 3)]
    api = api_for(bob)
    ident = checked(api, archive(posts, members={"media/a.jpg": picture()}))
    with monkeypatch.context() as patch:
        patch.setattr(jobs, "failpoint", _killer(lambda name: None, at))
        _die(api, ident, "start")
    tasks.run_imports()
    assert (get(api, ident)["state"], get(api, ident)["done"]) == ("done", 3)
    assert Post.objects.filter(author=bob).count() == 3
    assert Media.objects.filter(is_used=True).count() == 3
    assert step(api, ident, "undo")["done"] == 0
    drain()
    assert (Post.objects.filter(is_deleted=False).count(), Media.objects.count()) == (0, 0)


# --- Mastodon -------------------------------------------------------------------------------------
def note(ident: int, content: str, **fields: Any) -> dict[str, Any]:
    """Return an activity as an outbox has it."""
    whole = {
        "id": f"{ACTOR}/statuses/{ident}",
        "type": "Note",
        "summary": None,
        "inReplyTo": None,
        "to": [PUBLIC],
        "cc": [f"{ACTOR}/followers"],
        "sensitive": False,
        "content": content,
        "attachment": [],
        "tag": [],
    }
    return {
        "id": f"{ACTOR}/statuses/{ident}/activity",
        "type": "Create",
        "actor": ACTOR,
        "published": f"2019-05-05T10:00:{ident:02d}Z",
        "object": whole | fields,
    }


def outbox(*activities: Any) -> bytes:
    target = io.BytesIO()
    with zipfile.ZipFile(target, "w") as file:
        file.writestr("actor.json", json.dumps({"id": ACTOR, "preferredUsername": "alice"}))
        whole = {"id": "outbox.json", "type": "OrderedCollection", "orderedItems": activities}
        file.writestr("outbox.json", json.dumps(whole))
        file.writestr("media_attachments/files/1/a.png", picture())
        file.writestr("media_attachments/files/1/b.mp4", b"no video")
    return target.getvalue()


HTML = (
    '<p>Hi <span class="h-card"><a href="https://far.example/@bob123" class="u-url mention">@'
    "<span>bob123</span></a></span> &amp; @alice1<br>line</p><p>see "
    '<a href="https://a.example/very/long/path"><span class="invisible">https://</span>'
    '<span class="ellipsis">a.example/very/lo</span><span class="invisible">ng/path</span></a> '
    '<a href="https://old.example/tags/cats" class="mention hashtag">#<span>cats</span></a> '
    '<a href="https://b.example/">words</a><script>alert(1)</script></p>'
)
TEXT = (
    "Hi @bob123@far.example & @alice1@old.example\nline\n\n"
    "see https://a.example/very/long/path #cats words (https://b.example/)"
)


def test_an_archive_of_mastodon_comes_in(alice: User, bob: User, api_for: Make) -> None:
    image = {"mediaType": "image/png", "url": "/media_attachments/files/1/a.png", "name": "a cat"}
    video = {"mediaType": "video/mp4", "url": "/media_attachments/files/1/b.mp4", "name": None}
    poll = {"type": "Question", "endTime": "2019-05-05T11:00:00Z"}
    activities = [
        note(1, HTML, summary="careful", sensitive=True, attachment=[image]),
        note(2, "<p>quiet</p>", to=[f"{ACTOR}/followers"], cc=[PUBLIC]),
        note(3, "<p>close</p>", to=[f"{ACTOR}/followers"], cc=[]),
        note(4, "<p>direct</p>", to=["https://far.example/users/x"], cc=[]),
        note(5, "<p>again</p>", inReplyTo=f"{ACTOR}/statuses/1"),
        note(6, "<p>you</p>", inReplyTo="https://far.example/users/x/statuses/1"),
        note(7, "<p>moves</p>", attachment=[video]),
        note(8, "<p>which</p>", oneOf=[{"name": "a"}, {"name": "b"}], **poll),
        note(9, "<p>" + "long * " * 1000 + "</p>"),
        note(10, "", attachment=[video]),
        {**note(11, ""), "type": "Announce", "object": "https://far.example/1"},
        {**note(12, ""), "object": {"type": "Page"}},
        {"published": 5},
    ]
    api = api_for(bob)
    ident = checked(api, outbox(*activities), "mastodon")
    found = step(api, ident, "start")
    assert found["state"] == "done"
    assert sorted((one["error"], one["made"]) for one in found["failed"]) == [
        ("INVALID_POST", False),
        ("OTHER_KIND", False),
        ("REPLY", False),
        ("REPOST", False),
        ("VIDEO", False),
        ("VIDEO", True),
    ]
    posts = list(Post.objects.filter(author=bob).order_by("position"))
    assert [(one.visibility, one.kind) for one in posts] == [
        ("public", "micro"),
        ("quiet", "micro"),
        ("followers", "micro"),
        ("self", "micro"),
        ("public", "micro"),
        ("public", "micro"),
        ("public", "micro"),
        ("public", "article"),
    ]
    first = posts[0].content_row
    assert (first.content, first.note, first.sensitive) == (TEXT, "careful", True)
    assert [one["alt"] for one in first.images] == ["a cat"]
    assert posts[0].position == 1_557_050_401_000
    assert posts[6].content_row.poll["options"] == ["a", "b"]
    step(api, ident, "undo")
    assert not Post.objects.filter(author=bob, is_deleted=False).exists()
