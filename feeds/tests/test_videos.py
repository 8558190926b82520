"""Posts with an uploaded video: publishing, drafts, access to the files, the end of them."""

import io
from collections.abc import Callable
from pathlib import Path
from typing import Any

import blurhash
import pytest
from django.core.files.uploadedfile import SimpleUploadedFile
from django.test import Client
from rest_framework.test import APIClient

from accounts.models import User
from accounts.tests.browsers import browser_of
from feeds import actions
from feeds import queries as feeds_queries
from feeds.drafts import actions as drafts
from feeds.drafts import queries as draft_queries
from feeds.models import Draft
from feeds.tests.pictures import make_picture
from relations import actions as relations_actions
from socialsite.core.errors import InvalidInput, PayloadTooLarge, Unavailable
from socialsite.core.media import disk_space, stored_files
from socialsite.core.media.videos import jobs, uploads
from socialsite.core.models import Media, Video
from socialsite.core.tests.media.videos import samples
from socialsite.pages.media_files import PRIVATE, PUBLIC
from socialsite.pages.picture_placeholders import placeholder
from socialsite.tests.support.answers import assert_error

pytestmark = pytest.mark.django_db
Make = Callable[..., Any]
V1 = "/api/v1/"


@pytest.fixture(autouse=True)
def converting(settings: Any, tmp_path: Path) -> None:
    settings.MEDIA_ROOT = tmp_path / "media"
    settings.VIDEO_CONVERSION = True
    settings.MEDIA_MIN_FREE_PERCENT = 0


def upload(owner: User, data: bytes = b"") -> Video:
    raw = data or samples.video()
    return uploads.add(owner.pk, io.BytesIO(raw), len(raw))


def file_of(data: bytes, name: str = "a.mp4") -> SimpleUploadedFile:
    return SimpleUploadedFile(name, data, "video/mp4")


def work() -> None:
    while jobs.work_off():
        pass


def post_of(owner: User, video: Video, **values: Any) -> Any:
    return actions.publish(owner, kind="video", video=video.pk, **values)


def shown(client: APIClient, post_id: int) -> Any:
    return client.get(f"{V1}posts/{post_id}").json()["video"]


# --- API ----------------------------------------------------------------------------------------
def test_a_video_is_published_before_it_is_ready(me: User, mine: APIClient, drain: Make) -> None:
    made = mine.post(V1 + "media/videos", {"file": file_of(samples.video())})
    assert made.status_code == 201
    video = made.json()
    assert (video["state"], video["url"], video["progress"]) == ("processing", "", 0)
    body = {"kind": "video", "video": video["id"], "content": "look"}
    post = mine.post(V1 + "posts", body, format="json").json()
    assert post["video"]["state"] == "processing"
    assert post["video"]["url"] == ""
    work()
    drain()
    found = shown(mine, post["id"])
    assert found == shown(APIClient(), post["id"])
    assert set(found) == {
        *(
            "id",
            "url",
            "poster",
            "placeholder",
            "alt",
            "captions",
            "width",
            "height",
            "seconds",
            "state",
            "failure",
        ),
    }
    assert (found["state"], found["width"], found["height"]) == ("ready", 160, 120)
    assert found["url"].endswith(".mp4")
    own = mine.get(f"{V1}media/videos/{video['id']}").json()
    assert (own["progress"], own["url"]) == (100, found["url"])
    page = browser_get(f"/posts/{post['id']}")
    assert f'src="{found["url"]}"' in page
    assert f'poster="{found["poster"]}"' in page
    assert blurhash.components(found["placeholder"]) == (4, 3)
    assert f"<video{placeholder(found['placeholder'])}" in page
    assert f'class="quote-pics"><img{placeholder(found["placeholder"])}' in quote_of(me, post["id"])
    assert 'preload="metadata"' in page
    assert f'property="og:video" content="http://testserver{found["url"]}"' in page


def quote_of(author: User, post_id: str) -> str:
    """Return the page of a new post that quotes one."""
    quote, _is_new = actions.repost(author, int(post_id), "look")
    return browser_get(f"/posts/{quote.pk}")


def browser_get(path: str, client: Client | None = None) -> str:
    return (client or Client()).get(path).content.decode()


def test_a_failed_video_says_why_to_its_author(me: User, mine: APIClient, drain: Make) -> None:
    broken = b"\0\0\0\x18ftypisom" + b"\0" * 4000
    post = post_of(me, upload(me, broken))
    work()
    drain()
    found = shown(mine, post.pk)
    assert (found["state"], found["failure"], found["url"]) == ("failed", "broken", "")
    own = mine.get(f"{V1}media/videos/{found['id']}").json()
    assert own["detail"] == "This file is damaged, or it is not a video."
    reason = "This file is damaged"
    assert reason in browser_get(f"/posts/{post.pk}", browser_of(me))
    guests = browser_get(f"/posts/{post.pk}")
    assert reason not in guests
    assert "could not be prepared" in guests


def test_an_upload_that_is_repeated_is_stored_once(mine: APIClient) -> None:
    headers = {"Idempotency-Key": "one"}
    answers = [
        mine.post(V1 + "media/videos", {"file": file_of(samples.video())}, headers=headers)
        for _ in range(2)
    ]
    assert [one.status_code for one in answers] == [201, 201]
    assert answers[0].json()["id"] == answers[1].json()["id"]
    assert Media.objects.count() == 1
    from socialsite.core.media.videos import sources

    assert len(list(sources.folder().iterdir())) == 1
    other = mine.post(V1 + "media/videos", {"file": file_of(samples.webm())}, headers=headers)
    assert_error(other, 409, "IDEMPOTENCY_CONFLICT")


def test_what_is_no_video_is_refused(mine: APIClient, settings: Any) -> None:
    playlist = b"#EXTM3U\n#EXTINF:1,\nfile:///etc/passwd\n"
    assert mine.post(V1 + "media/videos", {"file": file_of(playlist)}).status_code == 415
    assert mine.post(V1 + "media/videos", {}).status_code == 400
    settings.VIDEO_MB = 0
    assert mine.post(V1 + "media/videos", {"file": file_of(b"x")}).status_code == 413
    settings.VIDEO_UPLOADS = False
    assert mine.post(V1 + "media/videos", {"file": file_of(samples.video())}).status_code == 403
    assert not Media.objects.exists()


def test_a_video_must_be_ones_own_and_no_picture(
    me: User, mine: APIClient, make_user: Make
) -> None:
    theirs, picture = upload(make_user()), make_picture(me)
    for wrong in (theirs.pk, picture.pk, 1):
        body = {"kind": "video", "video": str(wrong)}
        assert_error(mine.post(V1 + "posts", body, format="json"), 400, "INVALID_INPUT", "video")
        assert mine.get(f"{V1}media/videos/{wrong}").status_code == 404
    own = upload(me)
    bodies: list[dict[str, Any]] = [
        {"kind": "micro", "content": "x", "video": str(own.pk)},
        {"kind": "micro", "content": "x", "images": [str(own.pk)]},
        {"kind": "video", "video": str(own.pk), "video_url": "https://a.example/v"},
        {"kind": "video"},
    ]
    for body in bodies:
        answer = mine.post(V1 + "posts", body, format="json")
        assert (answer.status_code, answer.json()["error"]) == (400, "INVALID_INPUT")
        assert answer.json()["fields"]


def test_a_quota_and_the_disk_have_room_for_the_whole_video(
    me: User, monkeypatch: pytest.MonkeyPatch
) -> None:
    size = len(samples.video())
    monkeypatch.setattr(disk_space, "NEW_QUOTA_BYTES", size - 1)
    with pytest.raises(PayloadTooLarge):
        upload(me)
    monkeypatch.setattr(disk_space, "NEW_QUOTA_BYTES", size)
    upload(me)
    monkeypatch.setattr(disk_space, "is_disk_full", lambda adding=0: adding >= size)
    with pytest.raises(Unavailable):
        upload(me)


# --- files ----------------------------------------------------------------------------------------
def status(client: Client, name: str) -> tuple[int, str]:
    answer = client.get(f"/media/{name}", headers={"Range": "bytes=0-9"})
    return answer.status_code, answer["Cache-Control"]


def test_the_files_of_a_video_are_for_those_who_may_see_its_post(
    me: User, make_user: Make, drain: Make
) -> None:
    video = upload(me)
    people = {name: make_user() for name in ("follower", "stranger", "blocked", "blocker")}
    for name in ("follower", "blocked", "blocker"):
        relations_actions.follow(people[name], me)
    relations_actions.block(me, people["blocked"])
    relations_actions.block(people["blocker"], me)
    post = post_of(me, video, visibility="followers")
    work()
    drain()
    browsers = {name: browser_of(person) for name, person in people.items()}
    browsers |= {"guest": Client(), "author": browser_of(me)}
    item = Media.objects.get(pk=video.pk)
    for name in item.file_names():
        assert not stored_files.is_public(name)
        for role, browser in browsers.items():
            file = status(browser, name)
            wanted = (206, PRIVATE) if role in ("author", "follower") else (404, "no-store")
            assert file == wanted, (role, name)
    for role, browser in browsers.items():
        found = browser.get(f"/posts/{post.pk}/video").status_code
        assert found == (200 if role in ("author", "follower") else 404), role


def test_an_audience_that_narrows_takes_the_public_links_away(me: User, drain: Make) -> None:
    video = upload(me)
    post = post_of(me, video)
    work()
    drain()
    names = Media.objects.get(pk=video.pk).file_names()
    assert len(names) == 2
    assert all(stored_files.is_public(name) for name in names)
    assert status(Client(), names[0]) == (206, PUBLIC)
    actions.edit(me, post.pk, 1, visibility="followers", content="new words")
    assert feeds_queries.post(me, post.pk)["video"] is not None
    assert [status(Client(), name)[0] for name in names] == [404, 404]


def test_the_files_end_with_the_post(me: User, drain: Make) -> None:
    ready, waiting = upload(me), upload(me, samples.webm())
    posts = [post_of(me, video) for video in (ready, waiting)]
    work()
    late = upload(me)
    posts.append(post_of(me, late))
    drain()
    for post in posts:
        actions.delete(me, post.pk)
    drain()
    assert not Media.objects.exists()
    assert not Video.objects.exists()
    root = stored_files.path_of("")
    assert [path for path in root.rglob("*") if path.is_file()] == []


def test_ranges_are_as_the_standard_says(me: User, drain: Make) -> None:
    video = upload(me)
    post_of(me, video)
    work()
    drain()
    name = Media.objects.get(pk=video.pk).name
    whole = stored_files.path_of(name).read_bytes()
    size = len(whole)
    cases = {
        "bytes=0-9": (206, whole[:10], f"bytes 0-9/{size}"),
        "bytes=5-": (206, whole[5:], f"bytes 5-{size - 1}/{size}"),
        "bytes=-7": (206, whole[-7:], f"bytes {size - 7}-{size - 1}/{size}"),
        f"bytes=0-{size * 9}": (206, whole, f"bytes 0-{size - 1}/{size}"),
        f"bytes={size}-": (416, b"", f"bytes */{size}"),
        "bytes=9-3": (416, b"", f"bytes */{size}"),
        "bytes=-0": (416, b"", f"bytes */{size}"),
        "bytes=0-1,4-5": (200, whole, None),
        "bytes=-": (200, whole, None),
        "lines=0-1": (200, whole, None),
        "bytes=" + "9" * 400 + "-": (200, whole, None),
    }
    for asked, (code, body, place) in cases.items():
        answer: Any = Client().get(f"/media/{name}", headers={"Range": asked})
        content = b"".join(answer.streaming_content) if answer.streaming else answer.content
        assert (answer.status_code, answer.get("Content-Range")) == (code, place), asked
        assert content == body, asked
        assert answer["Accept-Ranges"] == "bytes"
    old = {"Range": "bytes=0-9", "If-Range": "Mon, 01 Jan 2024 00:00:00 GMT"}
    assert Client().get(f"/media/{name}", headers=old).status_code == 200
    now = Client().get(f"/media/{name}")["Last-Modified"]
    new = {"Range": "bytes=0-9", "If-Range": now}
    assert Client().get(f"/media/{name}", headers=new).status_code == 206


# --- drafts ---------------------------------------------------------------------------------------
def test_a_draft_keeps_its_video_and_becomes_a_post(me: User, mine: APIClient, drain: Make) -> None:
    video = upload(me)
    body = {"kind": "video", "video": str(video.pk)}
    draft = mine.post(V1 + "drafts", body, format="json").json()
    assert draft["video"]["state"] == "processing"
    work()
    drain()
    assert mine.get(f"{V1}drafts/{draft['id']}").json()["video"]["state"] == "ready"
    Media.objects.update(is_used=False)
    from socialsite.core.media import references

    references.drop_unused(Media.objects.filter(pk=video.pk).select_for_update())
    assert Media.objects.get().is_used  # the draft has it
    post = mine.post(f"{V1}drafts/{draft['id']}/publish").json()
    assert post["video"]["state"] == "ready"
    drain()
    again = drafts.rewrite(me, int(post["id"]))
    drain()
    assert draft_queries.draft(me, again.pk)["video"] is not None
    drafts.delete(me, again.pk)
    drain()
    assert not Media.objects.exists()


def test_a_draft_that_gets_another_video_gives_the_first_one_up(me: User, drain: Make) -> None:
    first, second = upload(me), upload(me, samples.webm())
    draft = drafts.create(me, {"kind": "video", "video": first.pk})
    drafts.replace(me, draft.pk, {"kind": "video", "video": second.pk})
    drain()
    assert list(Media.objects.values_list("pk", flat=True)) == [second.pk]


def test_a_draft_takes_no_video_of_others(me: User, make_user: Make) -> None:
    theirs = upload(make_user())
    with pytest.raises(InvalidInput):
        drafts.create(me, {"kind": "video", "video": theirs.pk})
    assert not Draft.objects.exists()


# --- pages ----------------------------------------------------------------------------------------
def test_a_video_is_uploaded_and_published_without_javascript(me: User, browser: Client) -> None:
    assert 'name="file"' in browser_get("/videos", browser)
    wrong = browser.post("/videos", {"file": file_of(b"#EXTM3U")})
    assert wrong.status_code == 415
    assert "not an MP4" in wrong.content.decode()
    answer = browser.post("/videos", {"file": file_of(samples.video())})
    assert answer.status_code == 303
    there = answer["Location"].partition("?")[0]
    page = browser_get(there, browser)
    video = Video.objects.get()
    assert f'name="video" value="{video.pk}" checked' in page
    fields = {"kind": "video", "video": str(video.pk), "content": "a day", "act": "publish"}
    assert browser.post(there, fields).status_code == 303
    assert not Draft.objects.exists()
    card = feeds_queries.profile_posts(me, me.pk, None, 1).items[0]
    assert card["video"] is not None
    part = browser_get(f"/posts/{card['id']}/video", browser)
    assert "<progress" in part
    assert "every 3s" in part


def test_the_form_shows_the_video_of_its_author_only(
    me: User, browser: Client, make_user: Make
) -> None:
    theirs = upload(make_user())
    fields = {"kind": "video", "video": str(theirs.pk), "content": "x"}
    answer = browser.post("/posts", fields)
    assert answer.status_code == 400
    assert "There is no such video of yours." in answer.content.decode()
    assert 'name="video" value' not in answer.content.decode()


def test_a_sensitive_video_is_covered(me: User, drain: Make) -> None:
    post = post_of(me, upload(me), sensitive=True)
    work()
    drain()
    page = browser_get(f"/posts/{post.pk}")
    assert "Show the sensitive video" in page
    assert "og:video" not in page


def test_feeds_and_frames_show_the_video(me: User, drain: Make) -> None:
    post = post_of(me, upload(me))
    work()
    drain()
    found = feeds_queries.post(None, post.pk)["video"]
    assert found is not None
    assert found["url"] in browser_get(f"/@{me.username}/feed.atom")
    assert "A post with a video." in browser_get(f"/@{me.username}/feed.atom")
    assert found["url"] in browser_get(f"/posts/{post.pk}/embed")
