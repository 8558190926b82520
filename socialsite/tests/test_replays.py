"""A repeat with the same Idempotency-Key creates nothing, and shows only what is visible now.

Each address that accepts a key is here, see `test_every_address_that_takes_a_key_is_here`.
"""

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from io import BytesIO
from typing import Any

import pytest
from django.apps import apps
from django.core.files.uploadedfile import SimpleUploadedFile
from django.db import connection
from django.db.models import Model
from drf_spectacular.generators import SchemaGenerator
from PIL import Image
from rest_framework.test import APIClient

from accounts import actions as accounts_actions
from accounts.models import User
from feeds import actions as feeds_actions
from feeds import queries as feeds_queries
from feeds.drafts import actions as drafts
from feeds.models import Draft, Post
from interactions import actions as interactions_actions
from interactions.models import Comment, Report
from relations import actions as relations_actions
from socialsite.core.models import Media
from socialsite.core.requests.idempotency import REPLAYED
from socialsite.core.tests.media.videos import samples

pytestmark = pytest.mark.django_db

V1 = "/api/v1/"
KEY = {"Idempotency-Key": "k1"}
SECRET = "words that must be forgotten"


class Scene:
    """Author wrote a post and a comment; Me creates something below or about it."""

    def __init__(self, make_user: Callable[..., User], api_for: Callable[..., APIClient]) -> None:
        self.me, self.author = make_user(), make_user()
        self.post = feeds_actions.publish(self.author, content=SECRET)
        self.comment = interactions_actions.comment(self.author, self.post.pk, "a question")
        self.draft = drafts.create(self.me, {"content": "mine"})
        self.client = api_for(self.me)
        # The first read of a person stores the state of their inbox.
        feeds_queries.home_feed(self.me, None, 1)

    def send(self, path: str, body: dict[str, Any]) -> Any:
        address = V1 + path.format(post=self.post.pk, draft=self.draft.pk)
        data = {name: self._value(value) for name, value in body.items()}
        kind = "multipart" if "file" in data else "json"
        return self.client.post(address, data, format=kind, headers=KEY)

    def _value(self, value: Any) -> Any:
        if value == "film":
            return SimpleUploadedFile("a.mp4", samples.video())
        if value is None:
            return SimpleUploadedFile("a.png", picture())
        return value.format(post=self.post.pk, comment=self.comment.pk, author=self.author.pk)


def picture() -> bytes:
    out = BytesIO()
    Image.new("RGB", (4, 4)).save(out, "PNG")
    return out.getvalue()


@pytest.fixture
def scene(make_user: Any, api_for: Any) -> Scene:
    return Scene(make_user, api_for)


# The request, and the table in which it may create one row.
CREATING: dict[str, tuple[str, dict[str, Any], type[Model]]] = {
    "post": ("posts", {"content": "mine"}, Post),
    "repost": ("posts/{post}/repost", {}, Post),
    "quote": ("posts/{post}/repost", {"content": "look"}, Post),
    "comment": ("posts/{post}/comments", {"content": "hm"}, Comment),
    "reply": ("posts/{post}/comments", {"content": "hm", "parent": "{comment}"}, Comment),
    "draft": ("drafts", {"content": "mine too"}, Draft),
    "published draft": ("drafts/{draft}/publish", {}, Post),
    "picture": ("media", {"file": None}, Media),
    "video": ("media/videos", {"file": "film"}, Media),
    **{
        f"report of a {kind}": (
            "reports",
            {"type": kind, "id": f"{{{name}}}", "reason": "spam", "words": "bad"},
            Report,
        )
        for kind, name in (("post", "post"), ("comment", "comment"), ("user", "author"))
    },
}


def undo(scene: Scene, what: str) -> None:
    """Delete the created object."""
    if what == "draft":
        drafts.delete(scene.me, Draft.objects.exclude(pk=scene.draft.pk).get().pk)
    elif what in ("post", "repost", "quote", "published draft"):
        feeds_actions.delete(scene.me, Post.objects.get(author=scene.me).pk)
    elif what in ("comment", "reply"):
        interactions_actions.delete_comment(scene.me, Comment.objects.get(author=scene.me).pk)
    elif what in ("picture", "video"):
        Media.objects.all().delete()
    else:
        accounts_actions.ban(scene.author)


def block(scene: Scene, what: str) -> None:
    relations_actions.block(scene.author, scene.me)


def delete_original(scene: Scene, what: str) -> None:
    interactions_actions.delete_comment(scene.author, scene.comment.pk)
    feeds_actions.delete(scene.author, scene.post.pk)


# Objects that still belong to the person afterwards, and are shown again.
OWN = ("post", "repost", "quote", "picture", "video", "draft", "published draft")
STAYS: dict[Callable[[Scene, str], None], tuple[str, ...]] = {
    undo: (),
    block: OWN,
    delete_original: (*OWN, "report of a user"),
}


def rows() -> dict[str, int]:
    return {model._meta.label: model._default_manager.count() for model in apps.get_models()}


def test_every_address_that_takes_a_key_is_here() -> None:
    paths = SchemaGenerator().get_schema(request=None, public=True)["paths"]
    taking = {
        path.removeprefix(V1)
        for path, methods in paths.items()
        for operation in methods.values()
        for parameter in operation.get("parameters", ())
        if parameter["name"] == "Idempotency-Key"
    }
    assert taking == {path.replace("}", "_id}") for path, _, _ in CREATING.values()}


@pytest.mark.parametrize("what", CREATING)
def test_a_repeat_answers_as_the_first(scene: Scene, what: str) -> None:
    path, body, _model = CREATING[what]
    first = scene.send(path, body)
    before = rows()
    again = scene.send(path, body)
    assert (first.status_code, first.json()) == (again.status_code, again.json())
    assert (REPLAYED in first.headers, again.headers[REPLAYED]) == (False, "true")
    assert rows() == before


@pytest.mark.parametrize("change", STAYS)
@pytest.mark.parametrize("what", CREATING)
def test_a_repeat_shows_nothing_that_is_gone_or_hidden_since(
    scene: Scene, what: str, change: Callable[[Scene, str], None]
) -> None:
    path, body, model = CREATING[what]
    first = scene.send(path, body)
    assert first.status_code == 201
    made = model._default_manager.count()
    change(scene, what)
    left = rows()
    again = scene.send(path, body)
    assert again.headers[REPLAYED] == "true"
    assert SECRET not in again.content.decode()
    if what in STAYS[change]:
        assert again.status_code == 201
        assert again.json().get("id") == first.json().get("id")
        if what in ("repost", "quote"):
            assert (again.json()["ref"], again.json()["ref_gone"]) == (None, True)
    else:
        assert (again.status_code, again.json()["code"]) in ((404, 17), (404, 1))
    assert rows() == left
    assert model._default_manager.count() <= made


@pytest.mark.full
@pytest.mark.django_db(transaction=True)
def test_many_repeats_at_the_same_time_publish_once(make_user: Any) -> None:
    access = accounts_actions.sign_in(make_user()).access

    def send(number: int) -> Any:
        client = APIClient(headers={"authorization": f"Bearer {access}"})
        try:
            return client.post(f"{V1}posts", {"content": "once"}, format="json", headers=KEY)
        finally:
            connection.close()

    with ThreadPoolExecutor(8) as pool:
        answers = list(pool.map(send, range(8)))
    assert {answer.status_code for answer in answers} == {201}
    assert len({answer.json()["id"] for answer in answers}) == 1
    assert sum(REPLAYED not in answer.headers for answer in answers) == 1
    assert Post.objects.count() == 1
