"""Archives that somebody made to do harm: a reason or a named error, never more; bounded memory."""

import io
import json
import tracemalloc
import zipfile
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from accounts.models import User
from feeds.imports import archives, making, mastodon, own
from socialsite.core.imports import elements, spools
from socialsite.core.imports.kinds import Unreadable
from socialsite.tests.imports.test_posts import SITE, archive, note, outbox, told

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("media_root")]

ODD = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats()
    | st.text(max_size=20)
    | st.sampled_from(["\ud800", "\0", "9" * 400, "2020-01-01T00:00:00+99:99", "../../x", "a.mp4"]),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner),
    max_leaves=6,
)
# Each example writes its file anew.
EACH_EXAMPLE = settings(
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.function_scoped_fixture]
)
FIELDS = (
    *("id", "kind", "visibility", "at", "title", "note", "content", "media", "poll"),
    *("video_url", "sensitive", "repost_of"),
)
NOTED = (
    *("id", "type", "summary", "inReplyTo", "to", "cc", "content", "attachment", "oneOf"),
    *("anyOf", "endTime", "published"),
)


@pytest.fixture
def bob(make_user: Any) -> User:
    return make_user("bob123")


def _rows(owner: User, data: bytes, read: making.Reader, folder: Path) -> list[Any]:
    path = folder / "archive"
    path.write_bytes(data)
    spools.path_of(path).unlink(missing_ok=True)
    try:
        making.prepared(read)(path, lambda: None)
        return list(making.rows(owner.pk, path, 0))
    except Unreadable:
        return []
    finally:
        assert {one.name for one in folder.iterdir()} <= {"archive", "archive.rows"}


@EACH_EXAMPLE
@given(field=st.sampled_from(FIELDS), value=ODD, kind=st.sampled_from(["micro", "repost", "video"]))
def test_any_value_in_a_post_is_a_row(
    field: str, value: Any, kind: str, bob: User, tmp_path: Path
) -> None:
    data = archive([told(1, kind=kind) | {field: value}], "https://old.example")
    assert len(_rows(bob, data, own.read, tmp_path)) == 1


@EACH_EXAMPLE
@given(field=st.sampled_from(NOTED), value=ODD)
def test_any_value_in_an_activity_is_a_row(
    field: str, value: Any, bob: User, tmp_path: Path
) -> None:
    inner = note(2, "x", type="Question")
    inner["object"][field] = value
    activities = [note(1, "x") | {field: value}, inner]
    assert len(_rows(bob, outbox(*activities), mastodon.read, tmp_path)) == 2


WHOLE = archive([told(n) for n in range(3)], members={"media/a.jpg": b"x" * 50})


@EACH_EXAMPLE
@given(
    changes=st.lists(
        st.tuples(st.integers(0, len(WHOLE) - 1), st.integers(0, 255)), min_size=1, max_size=5
    ),
    end=st.integers(0, len(WHOLE)) | st.just(len(WHOLE)),
)
def test_any_broken_file_is_read_or_refused(
    changes: list[tuple[int, int]], end: int, bob: User, tmp_path: Path
) -> None:
    data = bytearray(WHOLE)
    for place, value in changes:
        data[place] = value
    assert len(_rows(bob, bytes(data[:end]), own.read, tmp_path)) <= 3


def test_encryption_other_methods_and_too_many_posts_are_refused(
    bob: User, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    target = io.BytesIO()
    with zipfile.ZipFile(target, "w", zipfile.ZIP_LZMA) as file:
        file.writestr("data/posts.json", json.dumps([told(1)]))
    assert _rows(bob, target.getvalue(), own.read, tmp_path) == []
    secret = bytearray(archive([told(1)]))
    for sign, place in ((b"PK\1\2", 8), (b"PK\3\4", 6)):
        at = -1
        while (at := secret.find(sign, at + 1)) >= 0:
            secret[at + place] |= 1
    assert _rows(bob, bytes(secret), own.read, tmp_path) == []
    monkeypatch.setattr(making, "POSTS_MAX", 2)
    assert len(_rows(bob, archive([told(1), told(2)]), own.read, tmp_path)) == 2
    assert _rows(bob, archive([told(1), told(2), told(3)]), own.read, tmp_path) == []
    monkeypatch.setattr(archives, "JSON_MAX", 10)
    assert _rows(bob, archive([told(1)]), own.read, tmp_path) == []


def test_a_post_that_is_much_too_long_is_one_failed_row(
    bob: User, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(elements, "OBJECT_MAX", 1000)
    rows = _rows(bob, archive([told(1, content="x" * 2000), told(2)], SITE), own.read, tmp_path)
    assert [row.error for row in rows] == ["TOO_LONG", ""]


def test_memory_and_queries_do_not_grow_with_the_archive(
    bob: User, tmp_path: Path, django_assert_max_num_queries: Any
) -> None:
    def peak(count: int) -> int:
        path = tmp_path / str(count)
        path.write_bytes(archive([told(n, content="word " * 400) for n in range(count)]))
        tracemalloc.start()
        making.prepared(own.read)(path, lambda: None)
        assert sum(1 for _row in making.rows(bob.pk, path, 0)) == count
        found = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
        return found

    peak(10)
    small = peak(300)
    with django_assert_max_num_queries(3 * 3000 // spools.STEP):
        large = peak(3000)
    assert large < small + 2_000_000
