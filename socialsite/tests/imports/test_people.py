"""Imports of follows and blocks: nothing before the start, exactly once, quiet, undone exactly."""

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest
from django.core.files.uploadedfile import SimpleUploadedFile

from accounts import actions as accounts_actions
from accounts.models import User
from accounts.tests.browsers import browser_of, text_of
from feeds.tests.exactness import oracle
from interactions.models import Notification
from relations import actions, queries
from relations.models import Relation, Relationship
from socialsite import imports, tasks
from socialsite.core import db
from socialsite.core.events import relay
from socialsite.core.imports import files, jobs, tables
from socialsite.core.imports.kinds import Kind, Made, Row
from socialsite.core.models import Event, Import, ImportItem
from socialsite.tests.support.answers import assert_error

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("media_root")]

Make = Callable[..., Any]
V1 = "/api/v1/"
HOST = "testserver"
HEAD = "Account address,Show boosts,Notify on new posts,Languages\n"


@pytest.fixture(autouse=True)
def host(settings: Any) -> None:
    settings.SITE_URL = f"https://{HOST}"


@pytest.fixture
def alice(make_user: Make) -> User:
    return make_user("alice1")


@pytest.fixture
def api(alice: User, api_for: Make) -> Any:
    return api_for(alice)


def upload(api: Any, text: str | bytes, kind: str = "follows") -> Any:
    data = text if isinstance(text, bytes) else text.encode()
    form = {"kind": kind, "file": SimpleUploadedFile("a.csv", data)}
    return api.post(f"{V1}imports", form, format="multipart")


def checked(api: Any, text: str | bytes, kind: str = "follows") -> str:
    """Upload a file and check it as a worker does; return the id of the import."""
    answer = upload(api, text, kind)
    assert answer.status_code == 202
    tasks.run_imports()
    return str(answer.json()["id"])


def get(api: Any, ident: str) -> Any:
    return api.get(f"{V1}imports/{ident}").json()


def step(api: Any, ident: str, name: str) -> Any:
    """Start or undo an import, and run the worker."""
    answer = api.post(f"{V1}imports/{ident}/{name}")
    assert answer.status_code == 202
    tasks.run_imports()
    return get(api, ident)


def followed(user: User) -> set[int]:
    return set(queries.following_ids(user.pk))


# --- preview and run -----------------------------------------------------------------------------
def test_a_preview_counts_and_changes_nothing_until_the_start(
    alice: User, api: Any, make_user: Make
) -> None:
    bob, carol = make_user("bob123"), make_user("carol1")
    actions.follow(alice, carol)
    table = f"{HEAD}Bob123@{HOST},true,false,\n@carol1\nnobody1@{HOST}\nbob123@far.example\n?!\n"
    ident = checked(api, table)
    found = get(api, ident)
    assert (found["state"], found["done"], found["failed"]) == ("previewed", 0, [])
    preview = found["preview"]
    assert (preview["rows"], preview["found"], preview["there_already"]) == (5, 2, 1)
    problems = {"USER_NOT_FOUND": 1, "OTHER_SITE": 1, "INVALID_NAME": 1}
    assert preview["problems"] == problems
    assert preview["first"][0] == {"name": f"Bob123@{HOST}", "error": ""}
    assert followed(alice) == {carol.pk}
    found = step(api, ident, "start")
    assert (found["state"], found["progress"], found["done"]) == ("done", 100, 1)
    assert [(one["row"], one["error"]) for one in found["failed"]] == [
        (3, "USER_NOT_FOUND"),
        (4, "OTHER_SITE"),
        (5, "INVALID_NAME"),
    ]
    assert followed(alice) == {bob.pk, carol.pk}
    assert list(files.folder().iterdir()) == []


def test_the_tables_of_ones_own_archive_come_in(alice: User, api: Any, make_user: Make) -> None:
    bob = make_user("bob123")
    ident = checked(api, f"\ufeffbob123@{HOST}\r\n", "blocks")
    assert step(api, ident, "start")["done"] == 1
    assert queries.relation(alice.pk, bob.pk) == Relation.BLACKLISTING
    step(api, ident, "undo")
    assert queries.relation(alice.pk, bob.pk) is None


@pytest.mark.parametrize("kind", ["follows", "blocks"])
def test_a_file_does_not_reveal_who_blocks_whom(
    alice: User, api: Any, make_user: Make, kind: str
) -> None:
    hides, banned = make_user("hides1"), make_user("banned")
    actions.block(hides, alice)
    accounts_actions.ban(banned)
    ident = checked(api, "hides1\nbanned\nnobody\n", kind)
    assert get(api, ident)["preview"]["problems"] == {"USER_NOT_FOUND": 3}
    failed = step(api, ident, "start")["failed"]
    assert [one["error"] for one in failed] == ["USER_NOT_FOUND"] * 3
    assert queries.relation(alice.pk, hides.pk) == Relation.BLACKLISTED


def test_a_block_between_preview_and_start_reads_as_no_person(
    alice: User, api: Any, make_user: Make, monkeypatch: pytest.MonkeyPatch
) -> None:
    bob = make_user("bob123")
    ident = checked(api, "bob123\n")
    real = imports.KINDS["follows"].make

    def make(owner_id: int, row: Row) -> Made | None:
        actions.block(bob, alice)
        return real(owner_id, row)

    _replace(monkeypatch, make=make)
    assert [one["error"] for one in step(api, ident, "start")["failed"]] == ["USER_NOT_FOUND"]


def test_oneself_people_one_blocks_and_the_limit_are_failed_rows(
    alice: User, api: Any, make_user: Make, settings: Any
) -> None:
    settings.FOLLOW_LIMIT = 1
    bob, carol, _dave = (make_user(name) for name in ("bob123", "carol1", "dave12"))
    actions.block(alice, bob)
    ident = checked(api, "alice1\nbob123\ncarol1\ndave12\ncarol1\n")
    failed = step(api, ident, "start")["failed"]
    assert [(one["name"], one["error"]) for one in failed] == [
        ("alice1", "SELF_RELATION"),
        ("bob123", "BLOCKED_BY_YOU"),
        ("dave12", "FOLLOW_LIMIT"),
    ]
    assert followed(alice) == {carol.pk}


# --- quiet ---------------------------------------------------------------------------------------
def test_nobody_is_notified_of_an_imported_follow_even_after_replays(
    alice: User, api: Any, make_user: Make, drain: Any
) -> None:
    bob, carol = make_user("bob123"), make_user("carol1")
    # A follow of before whose events are delivered again later.
    actions.follow(alice, bob)
    actions.unfollow(alice, bob)
    rows = list(Event.objects.order_by("pk"))
    step(api, checked(api, "bob123\n"), "start")
    rows += Event.objects.exclude(pk__in=[row.pk for row in rows])
    drain()
    for row in [*reversed(rows), *rows]:
        row.pk = None
        row.save(force_insert=True)
        relay.deliver(row)
        drain()
    assert not Notification.objects.filter(user=bob).exists()
    # Another person's follow notifies, and so does a follow that one makes oneself afterwards.
    actions.follow(carol, bob)
    drain()
    assert Notification.objects.get(user=bob).actor_count == 1
    actions.unfollow(alice, bob)
    actions.follow(alice, bob)
    drain()
    assert Notification.objects.get(user=bob).actor_count == 2


def test_feeds_are_exact_before_and_after(
    alice: User, api: Any, make_user: Make, make_post: Make, drain: Any
) -> None:
    people = [make_user(name) for name in ("bob123", "carol1", "dave12")]
    for person in people:
        for at_ms in (1000, 2000):
            make_post(person, at_ms=at_ms)
    ident = checked(api, "bob123\ncarol1\ndave12\n")
    step(api, ident, "start")
    oracle.assert_whole(alice)
    drain()
    oracle.assert_whole(alice)
    step(api, ident, "undo")
    oracle.assert_whole(alice)
    drain()
    oracle.assert_whole(alice)


# --- undo ----------------------------------------------------------------------------------------
def test_an_undo_ends_what_the_import_made_and_still_stands(
    alice: User, api: Any, make_user: Make
) -> None:
    before, again, ended, kept = (make_user(f"person{n}") for n in range(4))
    actions.follow(alice, before)
    ident = checked(api, "person0\nperson1\nperson2\nperson3\n")
    assert step(api, ident, "start")["done"] == 3
    actions.unfollow(alice, again)
    actions.follow(alice, again)  # the time tells the two follows apart
    Relationship.objects.filter(from_user=alice, to_user=again).update(followed_at=db.now_ms() + 9)
    actions.unfollow(alice, ended)
    actions.follow(kept, alice)
    found = step(api, ident, "undo")
    assert (found["state"], found["progress"], found["done"]) == ("undone", 100, 0)
    assert followed(alice) == {before.pk, again.pk}
    assert queries.relation(alice.pk, kept.pk) == Relation.FOLLOWED
    assert step(api, ident, "undo")["state"] == "undone"


def test_steps_out_of_their_order_are_refused_and_repeats_change_nothing(
    alice: User, api: Any, make_user: Make, api_for: Make
) -> None:
    make_user("bob123")
    ident = upload(api, "bob123\n").json()["id"]
    assert_error(api.post(f"{V1}imports/{ident}/start"), 409, "STALE_VERSION")
    assert_error(api.post(f"{V1}imports/{ident}/undo"), 409, "STALE_VERSION")
    tasks.run_imports()
    assert_error(api.post(f"{V1}imports/{ident}/undo"), 409, "STALE_VERSION")
    step(api, ident, "start")
    assert step(api, ident, "start")["done"] == 1
    other = api_for(make_user("carol1"))
    for answer in (
        other.get(f"{V1}imports/{ident}"),
        other.post(f"{V1}imports/{ident}/start"),
        other.post(f"{V1}imports/{ident}/undo"),
    ):
        assert_error(answer, 404, "NOT_FOUND")
    step(api, ident, "undo")
    assert_error(api.post(f"{V1}imports/{ident}/start"), 409, "STALE_VERSION")


# --- workers -------------------------------------------------------------------------------------
class Killed(BaseException):
    """A worker dies here."""


def _replace(monkeypatch: pytest.MonkeyPatch, **parts: Any) -> None:
    kind: Kind = replace(imports.KINDS["follows"], **parts)
    monkeypatch.setattr(imports, "KINDS", {**imports.KINDS, "follows": kind})


def _killer(run: Callable[..., Any], at: int) -> Callable[..., Any]:
    """Return an action that dies after its n-th call."""
    left = [at]

    def wrapped(*args: Any) -> Any:
        result = run(*args)
        left[0] -= 1
        if not left[0]:
            raise Killed
        return result

    return wrapped


def _die(api: Any, ident: str, name: str) -> None:
    assert api.post(f"{V1}imports/{ident}/{name}").status_code == 202
    with pytest.raises(Killed):
        tasks.run_imports()
    tasks.run_imports()  # the lease of the dead worker has not ended
    Import.objects.update(due_at=0)


@pytest.mark.parametrize("where", ["in the transaction", "after it"])
@pytest.mark.parametrize("at", [1, 2, 3])
def test_a_worker_that_dies_loses_and_repeats_nothing(
    alice: User, api: Any, make_user: Make, monkeypatch: pytest.MonkeyPatch, where: str, at: int
) -> None:
    people = {make_user(f"person{n}").pk for n in range(3)}
    ident = checked(api, "person0\nnobody\nperson1\nperson2\n")
    kind = imports.KINDS["follows"]
    with monkeypatch.context() as patch:
        if where == "after it":
            patch.setattr(jobs, "failpoint", _killer(lambda name: None, at))
        else:
            _replace(patch, make=_killer(kind.make, at))
        _die(api, ident, "start")
    tasks.run_imports()
    found = get(api, ident)
    assert (found["state"], found["done"], len(found["failed"])) == ("done", 3, 1)
    assert followed(alice) == people
    with monkeypatch.context() as patch:
        if where == "after it":
            patch.setattr(jobs, "failpoint", _killer(lambda name: None, at))
        else:
            _replace(patch, undo=_killer(kind.undo, at))
        _die(api, ident, "undo")
    tasks.run_imports()
    assert (get(api, ident)["state"], followed(alice)) == ("undone", set())


def test_an_undo_stops_a_worker_that_runs(
    alice: User, api: Any, make_user: Make, monkeypatch: pytest.MonkeyPatch
) -> None:
    for number in range(3):
        make_user(f"person{number}")
    ident = checked(api, "person0\nperson1\nperson2\n")
    passed = []

    def failpoint(name: str) -> None:
        passed.append(name)
        if name == "import-row-made":
            assert api.post(f"{V1}imports/{ident}/undo").status_code == 202

    monkeypatch.setattr(jobs, "failpoint", failpoint)
    assert step(api, ident, "start")["state"] == "undone"
    names = ("staged", "made", "staged", "undone")
    assert passed == [f"import-row-{name}" for name in names]
    assert followed(alice) == set()


def test_a_long_import_takes_turns_and_waits_for_events(
    alice: User, api: Any, make_user: Make, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(jobs, "TURN", 2)
    monkeypatch.setattr(tables, "STEP", 2)
    people = {make_user(f"person{n}").pk for n in range(5)}
    ident = checked(api, "".join(f"person{n}\n" for n in range(5)))
    with monkeypatch.context() as patch:
        patch.setattr(relay, "lag_ms", lambda: jobs.LAG_MS + 1)
        assert step(api, ident, "start")["done"] == 0
    Import.objects.update(due_at=0)
    for done in (2, 4, 5):
        assert jobs.work_off(imports.KINDS)
        assert get(api, ident)["done"] == done
    assert (get(api, ident)["state"], followed(alice)) == ("done", people)
    assert step(api, ident, "undo")["state"] == "undone"
    assert followed(alice) == set()


def test_what_fails_again_and_again_is_given_up_and_can_be_undone(
    alice: User, api: Any, make_user: Make, monkeypatch: pytest.MonkeyPatch
) -> None:
    bob, carol = make_user("bob123"), make_user("carol1")
    ident = checked(api, "bob123\ncarol1\n")
    make = imports.KINDS["follows"].make

    def broken(owner_id: int, row: Row) -> Made | None:
        if row.target_id == carol.pk:
            raise RuntimeError("broken")
        return make(owner_id, row)

    _replace(monkeypatch, make=broken)
    step(api, ident, "start")
    for _ in range(jobs.TRIES_MAX + 1):
        Import.objects.update(due_at=0)
        jobs.work_off(imports.KINDS)
    assert (get(api, ident)["state"], followed(alice)) == ("failed", {bob.pk})
    assert (step(api, ident, "undo")["state"], followed(alice)) == ("undone", set())


# --- files ---------------------------------------------------------------------------------------
@pytest.mark.parametrize(
    ("data", "error"),
    [
        (b"\xff\xfe\x00a", "UNREADABLE"),
        (b"bob\x00123", "UNREADABLE"),
        (b"a" * 3000, "UNREADABLE"),
        (b'"' + b"a,\n" * 60_000, "UNREADABLE"),
        (b"a\n" * 7, "TOO_MANY_ROWS"),
    ],
)
def test_a_file_that_is_no_table_fails_with_a_reason(
    api: Any, monkeypatch: pytest.MonkeyPatch, data: bytes, error: str
) -> None:
    monkeypatch.setattr(tables, "ROWS_MAX", 6)
    found = get(api, checked(api, data))
    assert (found["state"], found["preview"]) == ("failed", {"error": error})
    assert list(files.folder().iterdir()) == []


def test_uploads_are_bounded_and_replace_those_not_started(
    alice: User, api: Any, make_user: Make, monkeypatch: pytest.MonkeyPatch
) -> None:
    make_user("bob123")
    monkeypatch.setattr(files, "TABLE_MAX", 10)
    monkeypatch.setattr(jobs, "IMPORTS_MAX", 1)
    assert_error(upload(api, "a" * 11), 413, "PAYLOAD_TOO_LARGE")
    assert_error(upload(api, "bob123", kind="likes"), 400, "INVALID_INPUT", "kind")
    empty = api.post(f"{V1}imports", {"kind": "follows"}, format="multipart")
    assert_error(empty, 400, "INVALID_INPUT", "file")
    first = checked(api, "bob123")
    second = checked(api, "bob123")
    assert_error(api.get(f"{V1}imports/{first}"), 404, "NOT_FOUND")
    assert len(list(files.folder().iterdir())) == 1
    step(api, second, "start")
    assert_error(upload(api, "bob123"), 409, "QUOTA_EXCEEDED")
    assert list(files.folder().iterdir()) == []


def test_old_imports_are_deleted(alice: User, api: Any, make_user: Make) -> None:
    make_user("bob123")
    step(api, checked(api, "bob123"), "start")
    tasks.apply_retention()
    assert (Import.objects.count(), ImportItem.objects.count()) == (1, 1)
    Import.objects.update(created_at=1)
    tasks.apply_retention()
    assert (Import.objects.count(), ImportItem.objects.count()) == (0, 0)
    assert len(followed(alice)) == 1


def test_the_import_of_a_closed_account_stops(alice: User, api: Any, make_user: Make) -> None:
    make_user("bob123")
    ident = checked(api, "bob123")
    jobs.begin(alice.pk, int(ident))
    accounts_actions.close(alice, "right.pass1")
    tasks.run_imports()
    assert Import.objects.get().state == "failed"
    assert followed(alice) == set()


# --- pages ---------------------------------------------------------------------------------------
def _post(browser: Any, path: str, form: dict[str, Any] | None = None) -> None:
    answer = browser.post(path, form or {})
    assert (answer.status_code, answer["Location"]) == (303, "/settings/import")


def test_the_page_leads_through_an_import(alice: User, make_user: Make) -> None:
    bob = make_user("bob123")
    browser = browser_of(alice)
    assert 'href="/settings/import"' in browser.get("/settings/export").content.decode()
    assert browser.post("/settings/import", {"kind": "follows"}).status_code == 400
    file = SimpleUploadedFile("a.csv", b"bob123\nnobody\n")
    _post(browser, "/settings/import", {"kind": "follows", "file": file})
    assert "hx-trigger" in browser.get("/settings/import").content.decode()
    tasks.run_imports()
    page = text_of(browser.get("/settings/import"))
    assert "There is nobody with this name here." in page
    assert "Start the import" in page
    assert followed(alice) == set()
    ident = Import.objects.get().pk
    _post(browser, f"/settings/import/{ident}/undo")  # not yet possible
    _post(browser, f"/settings/import/{ident}/start")
    tasks.run_imports()
    assert followed(alice) == {bob.pk}
    assert "Undo the import" in text_of(browser.get("/settings/import"))
    _post(browser, f"/settings/import/{ident}/undo")
    tasks.run_imports()
    assert followed(alice) == set()
    assert "Undo the import" not in text_of(browser.get("/settings/import"))
