"""Archives of people's own data: what is in them, who gets them, and that they survive workers."""

import csv
import io
import json
import zipfile
from collections.abc import Callable
from datetime import timedelta
from pathlib import Path
from typing import Any

import jsonschema
import pytest
from django.utils import timezone
from rest_framework.test import APIClient

from accounts import actions as accounts_actions
from accounts import sign_in_log
from accounts.models import SignIn, User
from accounts.tests.browsers import browser_of, text_of
from accounts.tests.staff.test_appeals import turn_on
from feeds import actions as feeds_actions
from feeds.content.polls.definition import Given
from feeds.models import Post
from interactions import actions as interactions_actions
from interactions.models import ReportedKind, SubjectType
from relations import actions as relations_actions
from socialsite import exports, tasks
from socialsite.core.exports import jobs, parts
from socialsite.core.media import disk_space, pictures
from socialsite.core.models import Export
from socialsite.tasks import apply_retention
from socialsite.tests.support.answers import assert_error
from socialsite.tests.support.pictures import picture

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("media_root")]

Make = Callable[..., Any]
V1 = "/api/v1/"
PASSWORD = "right.pass1"


@pytest.fixture
def alice(make_user: Make) -> User:
    return make_user("alice1")


def log_in(name: str = "alice1", client: str = "other") -> APIClient:
    body = {"username": name, "password": PASSWORD, "client": client}
    api = APIClient()
    answer = api.post(f"{V1}auth/login", body, format="json")
    api.credentials(HTTP_AUTHORIZATION=f"Bearer {answer.json()['access']}")
    return api


def built(api: APIClient) -> zipfile.ZipFile:
    """Ask for an archive, make it as a worker does, and fetch it."""
    ident = api.post(f"{V1}exports").json()["id"]
    tasks.build_exports()
    found = api.get(f"{V1}exports/{ident}").json()
    assert (found["state"], found["progress"]) == ("ready", 100)
    answer: Any = api.get(found["url"])
    assert answer["Content-Type"] == "application/zip"
    assert answer["Cache-Control"] == "private, no-store"
    return zipfile.ZipFile(io.BytesIO(b"".join(answer.streaming_content)))


def data_of(archive: zipfile.ZipFile, name: str) -> Any:
    return json.loads(archive.read(f"data/{name}.json"))


# --- what is in it -------------------------------------------------------------------------------
def test_it_has_all_of_a_person_and_nothing_of_others(
    alice: User, make_user: Make, make_post: Make, media_root: Path
) -> None:
    bob = make_user("bob123")
    (image,) = pictures.store_all(alice.pk, [(io.BytesIO(picture()), "a cat")])
    words = 'Hello <script>alert(1)</script> & "you"\n\n#greeting'
    post = feeds_actions.publish(alice, content=words, images=[image.pk])
    feeds_actions.edit(alice, post.pk, 1, content=f"{words}!")
    gone = make_post(alice, content="gone-for-good")
    feeds_actions.delete(alice, gone.pk)
    poll = Given(options=["Tea", "Coffee"], multiple=False, ends_at=None, lasts=3600)
    theirs = feeds_actions.publish(bob, content="words-of-bob", poll=poll)
    comment = interactions_actions.comment(alice, theirs.pk, "my-comment")
    interactions_actions.like(alice, SubjectType.POST, theirs.pk)
    interactions_actions.vote(alice, theirs.pk, [1])
    interactions_actions.report(alice, ReportedKind.POST, theirs.pk, "spam", "my-report")
    relations_actions.follow(alice, bob)
    relations_actions.block(alice, make_user("carol1"))
    relations_actions.follow(bob, alice)
    accounts_actions.warn(alice, None, "", accounts_actions.Grounds("spam", "my-warning"))
    archive = built(log_in())
    schema = data_of(archive, "schema")
    for part in exports.PARTS:
        jsonschema.validate(data_of(archive, part.name), schema[part.name])
    (first,) = data_of(archive, "posts")
    assert (first["id"], first["content"]) == (str(post.pk), f"{words}!")
    assert [one["content"] for one in first["former_versions"]] == [words]
    (shown,) = first["media"]
    assert archive.read(shown["file"]) == (media_root / image.name).read_bytes()
    assert [one["id"] for one in data_of(archive, "comments")] == [str(comment.pk)]
    assert [one["id"] for one in data_of(archive, "likes")] == [str(theirs.pk)]
    assert data_of(archive, "votes")[0]["choices"] == [1]
    assert data_of(archive, "reports")[0]["words"] == "my-report"
    assert data_of(archive, "staff_decisions")[0]["words"] == "my-warning"
    assert [one["username"] for one in data_of(archive, "followers")] == ["bob123"]
    assert len(data_of(archive, "sign_ins")) == 1
    every = b"".join(archive.read(name) for name in archive.namelist())
    assert b"words-of-bob" not in every
    assert b"gone-for-good" not in every
    assert alice.password.encode() not in every
    rows = list(csv.reader(io.StringIO(archive.read("following_accounts.csv").decode())))
    assert rows[0] == ["Account address", "Show boosts", "Notify on new posts", "Languages"]
    assert [row[0].partition("@")[0] for row in rows[1:]] == ["bob123"]
    blocked = archive.read("blocked_accounts.csv").decode()
    assert blocked.startswith("carol1@")


def test_its_pages_show_everything_escaped_and_lead_to_each_other(
    alice: User, make_post: Make
) -> None:
    for number in range(205):
        make_post(alice, content=f"<b>words {number:03}</b>")
    archive = built(log_in())
    index = archive.read("index.html").decode()
    assert 'href="pages/posts-1.html"' in index
    assert "Archive of @alice1" in index
    pages = [archive.read(f"pages/posts-{number}.html").decode() for number in (1, 2, 3)]
    assert "pages/posts-4.html" not in archive.namelist()
    for number in range(205):
        assert sum(f"&lt;b&gt;words {number:03}" in page for page in pages) == 1
    assert 'href="posts-2.html" rel="next"' in pages[0]
    assert 'rel="next"' not in pages[2]
    names = set(archive.namelist())
    for page in (index, *pages):
        assert "<script" not in page
        assert "default-src 'none'" in page
    assert {"data/posts.json", "data/schema.json", "data/profile.json"} <= names


def test_it_is_in_the_language_of_the_person(alice: User) -> None:
    User.objects.filter(pk=alice.pk).update(language="zh-Hans")
    index = built(log_in()).read("index.html").decode()
    assert '<html lang="zh-hans">' in index
    assert "档案" in index


def test_no_query_reads_more_than_a_step(
    alice: User, make_post: Make, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(parts, "STEP", 2)
    written = [str(make_post(alice).pk) for _ in range(5)]
    steps = [len(step) for step in parts.in_steps(Post.objects.filter(author_id=alice.pk), "id")]
    assert steps == [2, 2, 1]
    assert [one["id"] for one in data_of(built(log_in()), "posts")] == written


# --- who gets it ---------------------------------------------------------------------------------
def test_others_and_old_log_ins_do_not_get_it(alice: User, make_user: Make) -> None:
    make_user("bob123")
    api, other = log_in(), log_in("bob123")
    ident = api.post(f"{V1}exports").json()["id"]
    assert api.get(f"{V1}exports/{ident}").json()["url"] is None
    assert_error(api.get(f"{V1}exports/{ident}/file"), 404, "NOT_FOUND")
    tasks.build_exports()
    for path in (f"exports/{ident}", f"exports/{ident}/file"):
        assert_error(other.get(f"{V1}{path}"), 404, "NOT_FOUND")
        assert_error(APIClient().get(f"{V1}{path}"), 401, "NOT_AUTHENTICATED")
    SignIn.objects.update(proved_at=timezone.now() - timedelta(minutes=16))
    assert_error(api.get(f"{V1}exports/{ident}/file"), 403, "FRESH_LOGIN_NEEDED")
    assert log_in(client="ios").get(f"{V1}exports/{ident}/file").status_code == 200


def test_a_new_one_replaces_the_old_one_and_a_repeat_changes_nothing(alice: User) -> None:
    api = log_in()
    first = api.post(f"{V1}exports").json()["id"]
    assert api.post(f"{V1}exports").json()["id"] == first
    tasks.build_exports()
    second = api.post(f"{V1}exports").json()["id"]
    assert second != first
    assert_error(api.get(f"{V1}exports/{first}"), 404, "NOT_FOUND")
    assert list(jobs.folder().iterdir()) == []


def test_it_expires(alice: User) -> None:
    api = log_in()
    ident = api.post(f"{V1}exports").json()["id"]
    tasks.build_exports()
    apply_retention()
    assert Export.objects.exists()
    row = Export.objects.get()
    finished_at = row.finished_at or 0
    Export.objects.update(finished_at=finished_at - jobs.DAYS * jobs.DAY_MS - 1)
    assert_error(api.get(f"{V1}exports/{ident}/file"), 404, "NOT_FOUND")
    apply_retention()
    assert not Export.objects.exists()
    assert list(jobs.folder().iterdir()) == []


# --- pages ---------------------------------------------------------------------------------------
def test_the_page_makes_an_archive_and_asks_for_the_password_of_an_old_log_in(alice: User) -> None:
    browser = browser_of(alice)
    assert "Make an archive" in text_of(browser.get("/settings/export"))
    assert browser.post("/settings/export").status_code == 303
    page = browser.get("/settings/export").content.decode()
    assert 'hx-trigger="load delay:3s"' in page
    tasks.build_exports()
    row = Export.objects.get()
    page = browser.get("/settings/export").content.decode()
    assert "hx-trigger" not in page
    path = f"/settings/export/{row.pk}/file"
    assert path in page
    assert browser.get(path).status_code == 200
    SignIn.objects.update(proved_at=timezone.now() - timedelta(minutes=16))
    asked = browser.get(path)
    assert (asked.status_code, asked["Location"]) == (
        303,
        "/settings/prove?next=%2Fsettings%2Fexport",
    )
    wrong = browser.post("/settings/prove", {"password": "wrong.pass1", "next": "/settings/export"})
    assert wrong.status_code == 401
    assert browser.get(path).status_code == 303
    right = browser.post("/settings/prove", {"password": PASSWORD, "next": "/settings/export"})
    assert (right.status_code, right["Location"]) == (303, "/settings/export")
    assert browser.get(path).status_code == 200


def test_a_second_factor_is_asked_for_too(alice: User) -> None:
    codes = turn_on(alice)
    browser = browser_of(alice)
    client = SignIn.objects.latest("pk").client
    page = browser.get("/settings/prove").content.decode()
    assert 'name="otp"' in page
    body = {"password": PASSWORD, "next": "/settings/export"}
    assert browser.post("/settings/prove", body).status_code == 401
    SignIn.objects.update(proved_at=timezone.now() - timedelta(minutes=16))
    assert browser.post("/settings/prove", body | {"otp": codes[0]}).status_code == 303
    assert sign_in_log.is_fresh(alice.pk, client)


# --- workers -------------------------------------------------------------------------------------
def test_a_dead_worker_is_replaced_when_its_lease_ends(alice: User) -> None:
    log_in().post(f"{V1}exports")
    dead = jobs._claim()
    assert dead is not None
    tasks.build_exports()
    assert Export.objects.get().state == "waiting"
    Export.objects.update(due_at=0)
    tasks.build_exports()
    assert Export.objects.get().state == "ready"
    with pytest.raises(jobs.Lost):
        jobs._finish(dead, Export.State.READY)


def test_a_worker_that_lost_its_lease_stops(alice: User) -> None:
    log_in().post(f"{V1}exports")

    def write(user_id: int, target: Any, report: Callable[[int], None]) -> None:
        Export.objects.update(lease=9)
        report(10)
        raise AssertionError("not reached")

    assert jobs.work_off(write)
    row = Export.objects.get()
    assert (row.state, row.progress) == ("waiting", 0)
    assert list(jobs.folder().iterdir()) == []


def test_what_fails_again_and_again_is_given_up(alice: User) -> None:
    api = log_in()
    ident = api.post(f"{V1}exports").json()["id"]

    def write(user_id: int, target: Any, report: Callable[[int], None]) -> None:
        raise RuntimeError("broken")

    for _ in range(jobs.TRIES_MAX + 1):
        Export.objects.update(due_at=0)
        assert jobs.work_off(write)
    found = api.get(f"{V1}exports/{ident}").json()
    assert (found["state"], found["url"]) == ("failed", None)
    assert list(jobs.folder().iterdir()) == []


def test_a_full_disk_is_waited_for(alice: User, monkeypatch: pytest.MonkeyPatch) -> None:
    log_in().post(f"{V1}exports")
    monkeypatch.setattr(disk_space, "is_disk_full", lambda: True)
    for _ in range(jobs.TRIES_MAX + 2):
        Export.objects.update(due_at=0)
        tasks.build_exports()
    row = Export.objects.get()
    assert (row.state, row.tries) == ("waiting", 0)
    monkeypatch.undo()
    Export.objects.update(due_at=0)
    tasks.build_exports()
    assert Export.objects.get().state == "ready"
