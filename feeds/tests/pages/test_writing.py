"""Help while writing: names and tags are completed, and who will not see a text is said before."""

import re
from typing import Any

import pytest
from django.test import Client

from feeds import actions
from feeds.models import Draft, Post, PostContent
from interactions import actions as interactions_actions
from interactions.models import Comment
from relations import actions as relations_actions
from socialsite.core.text import emojis

pytestmark = pytest.mark.django_db
HTMX = {"HX-Request": "true"}


def words(browser: Client, **query: str) -> list[str]:
    """Return what the suggestions would insert, in their order."""
    page = browser.get("/completions", query).content.decode()
    return re.findall(r'data-word="([^"]*) "', page)


def told(page: str) -> str:
    """Return the names that a form says will not see its text."""
    return "".join(re.findall(r'name="told" value="([^"]*)"', page))


class TestCompletions:
    def test_those_whom_one_follows_come_first(
        self, browser: Client, me: Any, make_user: Any
    ) -> None:
        followed, _other = make_user("river1"), make_user("river2")
        relations_actions.follow(me, followed)
        assert words(browser, word="@river") == ["@river1", "@river2"]
        assert words(browser, word="@RIVER2") == ["@river2"]

    def test_the_person_of_the_name_comes_before_all_others(
        self, browser: Client, me: Any, make_user: Any
    ) -> None:
        make_user("river")
        followed = [make_user(f"river{number}") for number in range(6)]
        for one in followed:
            relations_actions.follow(me, one)
        for word in ("@River", "\uff20\uff32iver"):
            found = words(browser, word=word)
            assert found[0] == "@river"
            assert {*found[1:]} < {f"@{one.username}" for one in followed}

    def test_a_nickname_is_completed_to_the_username(self, browser: Client, make_user: Any) -> None:
        make_user("river1", nickname="小河流水")
        assert words(browser, word="@小河") == words(browser, word="＠小河") == ["@river1"]

    def test_people_in_a_block_are_not_suggested(
        self, browser: Client, me: Any, make_user: Any
    ) -> None:
        blocker, blocked = make_user("river1"), make_user("river2")
        relations_actions.block(blocker, me)
        relations_actions.block(me, blocked)
        assert words(browser, word="@river") == []

    def test_who_will_not_see_a_post_for_followers_is_marked(
        self, browser: Client, me: Any, make_user: Any
    ) -> None:
        follower = make_user("river1")
        make_user("river2")
        relations_actions.follow(follower, me)
        page = browser.get("/completions", {"word": "@river", "visibility": "followers"})
        first, second = sorted(
            page.content.decode().split("<li ")[1:], key=lambda li: "river2" in li
        )
        assert ("Will not see" in first, "Will not see" in second) == (False, True)
        assert b"Will not see" not in browser.get("/completions", {"word": "@river"}).content

    def test_tags_in_use_are_suggested(self, browser: Client, make_user: Any) -> None:
        actions.publish(make_user(), content="#tea and #teapots")
        actions.publish(make_user(), content="#tea", visibility="followers")
        actions.publish(make_user(), content="#teatime", visibility="followers")
        assert words(browser, word="#tea") == ["#tea", "#teapots"]
        assert words(browser, word="＃TEAP") == ["#teapots"]

    @pytest.mark.parametrize(
        "word", ["", "@", "#", "@ ", "river", "@%", "@_", "#!", "@" + "x" * 99]
    )
    def test_other_words_have_none(self, browser: Client, make_user: Any, word: str) -> None:
        make_user("river1")
        assert words(browser, word=word) == []

    def test_guests_get_none(self, client: Client) -> None:
        assert client.get("/completions", {"word": "@a"}, headers=HTMX).status_code == 401


class TestEmoji:
    @pytest.mark.parametrize("text", ["black cat", "cat BLACK", "黑猫"])
    def test_they_are_found_by_their_names_in_both_languages(self, text: str) -> None:
        found = emojis.named(text, "en")
        assert found[0].character == "🐈\u200d⬛"
        assert found[0].name == "black cat"
        assert emojis.named(text, "zh-hans")[0].name == "黑猫"

    def test_an_empty_search_shows_common_ones_in_their_order(self) -> None:
        assert [one.character for one in emojis.named("", "en")] == emojis.COMMON.split()

    for text in ("piñata", "PINATA", "pin\u0303ata", "\uff50iñata"):
        assert [one.character for one in emojis.named(text, "en")] == ["🪅"]

    def test_the_picker_shows_them(self, browser: Client) -> None:
        page = browser.get("/emoji", {"q": "grinning cat"}).content.decode()
        assert 'data-emoji="😺"' in page
        assert "No emoji" in browser.get("/emoji", {"q": "qqq"}).content.decode()


class TestTold:
    """A form that names somebody who may not see the text says so, and is sent a second time."""

    @pytest.mark.parametrize("headers", [{}, HTMX], ids=["plain", "htmx"])
    def test_of_a_post_for_followers(
        self, browser: Client, me: Any, make_user: Any, headers: dict[str, str]
    ) -> None:
        follower = make_user("reader1")
        make_user("stranger1")
        relations_actions.follow(follower, me)
        form = {"content": "@reader1 @stranger1 @nobody1 hi", "visibility": "followers"}
        page = browser.post("/posts", form, headers=headers)
        assert (page.status_code, Post.objects.count()) == (400, 0)
        assert told(page.content.decode()) == "stranger1"
        assert "@stranger1 hi" in re.sub(r"@nobody1 ", "", page.content.decode())
        browser.post("/posts", form | {"told": "stranger1"}, headers=headers)
        assert Post.objects.count() == 1

    def test_who_was_not_told_of_is_said_again(self, browser: Client, make_user: Any) -> None:
        make_user("stranger1")
        make_user("stranger2")
        form = {"content": "@stranger1 @stranger2", "visibility": "followers", "told": "stranger1"}
        assert told(browser.post("/posts", form).content.decode()) == "stranger1,stranger2"

    def test_of_a_public_post_it_is_those_in_a_block(
        self, browser: Client, me: Any, make_user: Any
    ) -> None:
        make_user("stranger1")
        relations_actions.block(make_user("blocker1"), me)
        form = {"content": "@stranger1 @blocker1"}
        assert told(browser.post("/posts", form).content.decode()) == "blocker1"

    def test_oneself_is_never_among_them(self, browser: Client, me: Any) -> None:
        browser.post("/posts", {"content": f"@{me.username}", "visibility": "followers"})
        assert Post.objects.count() == 1

    def test_an_edit_says_it_of_new_names_only(
        self, browser: Client, me: Any, make_user: Any
    ) -> None:
        make_user("stranger1")
        make_user("stranger2")
        post = actions.publish(me, content="@stranger1", visibility="followers")
        form = {"version": "1", "visibility": "followers", "content": "@stranger1 more"}
        assert browser.post(f"/posts/{post.pk}/edit", form).status_code == 303
        form |= {"version": "2", "content": "@stranger1 @stranger2"}
        assert told(browser.post(f"/posts/{post.pk}/edit", form).content.decode()) == "stranger2"
        assert PostContent.objects.get().content == "@stranger1 more"

    def test_a_draft_says_it_when_it_is_published_not_when_it_is_saved(
        self, browser: Client, make_user: Any
    ) -> None:
        make_user("stranger1")
        form = {"content": "@stranger1", "visibility": "followers"}
        browser.post("/drafts", form)
        draft = Draft.objects.get()
        page = browser.post(f"/drafts/{draft.pk}", form | {"act": "publish"})
        assert told(page.content.decode()) == "stranger1"
        assert Post.objects.count() == 0
        browser.post(f"/drafts/{draft.pk}", form | {"act": "publish", "told": "stranger1"})
        assert Post.objects.count() == 1

    @pytest.mark.parametrize("headers", [{}, HTMX], ids=["plain", "htmx"])
    @pytest.mark.parametrize("is_reply", [False, True])
    def test_of_a_comment(
        self, browser: Client, me: Any, make_user: Any, headers: dict[str, str], is_reply: bool
    ) -> None:
        author = make_user()
        relations_actions.follow(me, author)
        make_user("stranger1")
        post = actions.publish(author, content="hello", visibility="followers")
        form = {"content": "look, @stranger1"}
        if is_reply:
            form["parent"] = str(interactions_actions.comment(author, post.pk, "first").pk)
        before = Comment.objects.count()
        page = browser.post(f"/posts/{post.pk}/comments", form, headers=headers)
        assert page.status_code == 422
        assert told(page.content.decode()) == "stranger1"
        assert Comment.objects.count() == before
        browser.post(f"/posts/{post.pk}/comments", form | {"told": "stranger1"}, headers=headers)
        assert Comment.objects.count() == before + 1

    def test_of_an_edited_comment_and_of_a_repost(
        self, browser: Client, me: Any, make_user: Any
    ) -> None:
        relations_actions.block(make_user("blocker1"), me)
        post = actions.publish(make_user(), content="hello")
        comment = interactions_actions.comment(me, post.pk, "first")
        form = {"content": "@blocker1 second", "version": "1"}
        page = browser.post(f"/comments/{comment.pk}/edit", form).content.decode()
        assert told(page) == "blocker1"
        page = browser.post(f"/posts/{post.pk}/repost", {"content": "@blocker1"}).content.decode()
        assert told(page) == "blocker1"
        assert Post.objects.count() == 1
