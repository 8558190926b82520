"""The page of a case: what staff see there of the reported object, and what they do there."""

import io
from typing import Any

import pytest
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext

from accounts import actions as accounts_actions
from accounts.models import Role, User
from accounts.tests.browsers import browser_of, text_of
from feeds import actions as feeds_actions
from feeds.models import Post
from feeds.tests.pictures import make_picture
from interactions import actions
from interactions.models import Case, ReportedKind
from interactions.tests.case_pages import QUEUE, address_of, page_of, queries_of
from relations import actions as relations_actions
from socialsite.core.media import pictures
from socialsite.core.models import Media
from socialsite.tests.support.pictures import picture as picture_file
from socialsite.tests.support.polls import given

pytestmark = pytest.mark.django_db

POST, COMMENT, USER = ReportedKind


@pytest.fixture
def author(make_user: Any) -> User:
    return make_user("author1")


@pytest.fixture
def staff(make_user: Any) -> User:
    return accounts_actions.promote(make_user(), Role.MEMBER | Role.MODERATOR)


@pytest.fixture
def browser(staff: User) -> Client:
    return browser_of(staff)


# --- acts ---------------------------------------------------------------------------------------
def test_an_act_from_the_page_of_a_case_returns_to_it(browser, case_of, author, make_post) -> None:
    case = case_of(POST, make_post(author, content="for sale").pk)
    assert f'action="{QUEUE}?state=all"' in page_of(browser, case)
    form = {"action": "delete_reported", "_selected_action": case.pk, "back": case.pk}
    asked = text_of(browser.post(f"{QUEUE}?state=all", form))
    assert f"post {case.subject_id}, @author1: for sale" in asked
    assert f'href="{address_of(case)}"' in asked
    done = browser.post(f"{QUEUE}?state=all", form | {"confirmed": "yes"})
    assert (done.status_code, done["Location"]) == (302, address_of(case))
    assert Post.objects.get(pk=case.subject_id).is_removed
    assert "Done for 1." in page_of(browser, case)


def test_a_closed_case_can_still_lead_to_a_ban(browser, case_of, author, make_post, staff) -> None:
    case = case_of(POST, make_post(author).pk)
    actions.dismiss_reports(staff, case.pk)
    form = {"action": "ban", "_selected_action": case.pk, "back": case.pk, "confirmed": "yes"}
    browser.post(f"{QUEUE}?state=all", form)
    author.refresh_from_db()
    assert author.banned_at is not None


def test_a_confirmation_costs_no_query_a_case(browser, case_of, author, make_post) -> None:
    cases, counts = [], []
    for _ in range(2):
        for _ in range(3):
            post = make_post(author).pk
            cases.append(case_of(POST, post))
            cases.append(case_of(COMMENT, actions.comment(author, post, "buy it").pk))
        form = {"action": "dismiss", "_selected_action": [case.pk for case in cases]}
        browser.post(QUEUE, form)
        with CaptureQueriesContext(connection) as queries:
            text_of(browser.post(QUEUE, form))
        counts.append(len(queries))
    assert counts[0] == counts[1]


# --- the reported object ------------------------------------------------------------------------
def test_staff_see_a_post_as_people_do_with_its_pictures_blurred(
    browser, case_of, author, make_post
) -> None:
    picture = make_picture(author, alt="a red door")
    post = make_post(
        author,
        content="one\n#door by @reporter1 <b>",
        note="only for eyes",
        images=[picture.pk],
        poll=given("open", "shut"),
    )
    page = page_of(browser, case_of(POST, post.pk))
    shown = page.partition('data-testid="reported-post"')[2].partition("</article>")[0]
    assert f'href="/admin/accounts/user/{author.pk}/change/"' in shown
    for text in ("@author1", "only for eyes", "&lt;b&gt;", "Everyone", ">open<", ">shut<"):
        assert text in shown
    for link in ('href="/tags/door"', 'href="/@reporter1"'):
        assert link in shown
    veil = shown.partition('<div class="veil">')[2]
    assert f'<input type="checkbox" id="veil-{post.pk}"' in veil
    assert 'alt="a red door"' in veil
    assert "css/site" in page


def test_an_article_a_video_and_a_quote_are_shown(browser, case_of, author, make_post) -> None:
    article = make_post(author, kind="article", title="My house", content="# Roof\n\n*red*")
    page = page_of(browser, case_of(POST, article.pk))
    assert "My house" in page
    assert "<em>red</em>" in page
    original = make_post(author, content="the original")
    quote, _ = feeds_actions.repost(author, original.pk, content="what I think")
    page = page_of(browser, case_of(POST, quote.pk))
    assert "the original" in page
    assert "what I think" in page
    feeds_actions.delete(author, original.pk)
    assert "no longer available" in page_of(browser, Case.objects.get(subject_id=quote.pk))


def test_a_deleted_post_is_still_shown(browser, case_of, author, make_post, staff, drain) -> None:
    picture = make_picture(author)
    mine, theirs = (make_post(author, content=text) for text in ("I did it", "they did it"))
    pictured = make_post(author, content="with a picture", images=[picture.pk])
    cases = [case_of(POST, post.pk) for post in (mine, theirs, pictured)]
    feeds_actions.delete(author, mine.pk)
    feeds_actions.delete(staff, theirs.pk)
    feeds_actions.delete(author, pictured.pk)
    drain()
    pages = [page_of(browser, case).partition('class="case-object"')[2] for case in cases]
    for text, page in zip(("I did it", "they did it", "with a picture"), pages, strict=True):
        assert text in page
        assert '<span class="chip">deleted</span>' in page
    by_staff = f'by staff: <a href="/admin/accounts/user/{staff.pk}/change/">'
    assert [by_staff in page for page in pages] == [False, True, False]
    assert "1 picture or video was removed with the post." in pages[2]
    assert "<img" not in pages[2].partition("</article>")[0]


def test_the_words_before_an_edit_are_there_newest_first(
    browser, case_of, author, make_post
) -> None:
    post = make_post(author, content="first words")
    case = case_of(POST, post.pk)
    assert "former-version" not in page_of(browser, case)
    for version, text in enumerate(("second words", "third words"), 1):
        feeds_actions.edit(author, post.pk, version=version, content=text)
    page = page_of(browser, case)
    order = [page.index(text) for text in ("third words", "second words", "first words")]
    assert order == sorted(order)
    assert page.count('data-testid="former-version"') == 2
    feeds_actions.delete(author, post.pk)
    assert "first words" not in page_of(browser, case)


def test_a_comment_is_shown_in_its_thread(browser, case_of, author, make_post, reporter) -> None:
    post = make_post(author, content="the post below")
    chain = [actions.comment(author, post.pk, "level 0")]
    for level in range(1, 16):
        chain.append(actions.comment(author, post.pk, f"level {level}.", parent_id=chain[-1].pk))
    case = case_of(COMMENT, chain[13].pk)
    actions.comment(reporter, post.pk, "another answer", parent_id=chain[13].pk)
    actions.delete_comment(author, chain[12].pk)
    page = page_of(browser, case)
    assert "the post below" in page
    texts = ["level 0", *(f"level {number}." for number in range(3, 15)), "another answer"]
    order = [page.index(text) for text in texts]
    assert order == sorted(order)
    assert "Some comments between are left out." in page
    for text in ("level 1.", "level 2.", "level 15."):
        assert text not in page
    reported = page.partition('data-testid="reported-comment"')[2].partition("</li>")[0]
    assert "level 13." in reported
    assert page.count(">deleted<") == 1
    actions.delete_comment(author, chain[13].pk)
    assert "level 13." in page_of(browser, case)


def test_the_answers_of_a_comment_are_bounded_and_cost_no_queries(
    browser, case_of, author, make_post
) -> None:
    post = make_post(author)
    comment = actions.comment(author, post.pk, "reported")
    case, counts = case_of(COMMENT, comment.pk), []
    for number in range(22):
        actions.comment(author, post.pk, f"answer {number}.", parent_id=comment.pk)
        if number in (2, 20):
            counts.append(queries_of(browser, address_of(case)))
    assert counts[0] == counts[1]
    page = page_of(browser, case)
    assert "answer 19." in page
    assert "answer 20." not in page
    assert "There are more answers." in page


def test_a_person_is_shown_with_blurred_pictures(browser, case_of, author) -> None:
    rows = User.objects.filter(pk=author.pk)
    rows.update(bio="<i>me</i>", links=["https://example.org/me"], banner_name="aa/b.jpg")
    page = page_of(browser, case_of(USER, author.pk))
    shown = page.partition('data-testid="reported-person"')[2].partition("</article>")[0]
    assert "&lt;i&gt;me&lt;/i&gt;" in shown
    assert 'href="https://example.org/me"' in shown
    assert '/media/aa/b.jpg"' in shown.partition('<div class="veil">')[2]


def test_a_case_without_its_object_has_a_page(browser, case_of, author, make_post) -> None:
    case = case_of(POST, make_post(author).pk)
    for kind in (POST, COMMENT):
        Case.objects.filter(pk=case.pk).update(kind=kind, subject_id=1)
        page_of(browser, case)


# --- history ------------------------------------------------------------------------------------
def test_the_history_of_a_person_is_beside_the_object(
    browser, case_of, author, make_post, staff, make_user
) -> None:
    accounts_actions.edit_profile(author, bio="an act of my own")
    dismissed, open_one, this = (case_of(POST, make_post(author).pk) for _ in range(3))
    stranger = case_of(POST, make_post(make_user()).pk)
    actions.dismiss_reports(staff, dismissed.pk)
    accounts_actions.force_offline(author, staff)
    page = page_of(browser, this)
    shown = page.partition('id="case-history"')[2].partition("</fieldset>")[0]
    for case, outcome in ((dismissed, "Dismissed"), (open_one, "not decided yet")):
        line = shown.partition(f'<a href="{address_of(case)}">')[2].partition("</li>")[0]
        assert line.endswith(f": {outcome}")
    assert address_of(this) not in shown
    assert address_of(stranger) not in shown
    for text in ("3 posts", f"member since {author.created_at:%Y-%m-%d}", "1 more open"):
        assert text in shown
    assert f"{staff}</a>: ended all sign-ins" in shown
    assert shown.count("<li>") == 5


def test_the_history_costs_no_query_a_row(browser, case_of, author, make_post, staff) -> None:
    this, counts = case_of(POST, make_post(author).pk), []
    for _ in range(2):
        for _ in range(3):
            case = case_of(POST, make_post(author).pk)
            actions.dismiss_reports(staff, case.pk)
            accounts_actions.force_offline(author, staff)
        counts.append(queries_of(browser, address_of(this)))
    assert counts[0] == counts[1]


# --- files of pictures --------------------------------------------------------------------------
def upload(owner: User) -> Media:
    return pictures.store_all(owner.pk, [(io.BytesIO(picture_file()), "a door")])[0]


def test_staff_get_the_pictures_of_hidden_posts_with_a_case(
    browser, staff, case_of, author, make_post, settings, media_root
) -> None:
    picture = upload(author)
    post = make_post(author, visibility="followers", images=[picture.pk])
    relations_actions.follow(User.objects.get(username="reporter1"), author)
    address = f"/media/{picture.name}"
    assert browser.get(address).status_code == 404
    case_of(POST, post.pk)
    answer = browser.get(address)
    assert (answer.status_code, answer["Cache-Control"]) == (200, "private, no-store")
    settings.STAFF_TOTP = True
    assert browser.get(address).status_code == 404
    settings.STAFF_TOTP = False
    accounts_actions.promote(staff, Role.MEMBER)
    assert browser.get(address).status_code in (401, 404)


def test_staff_get_the_pictures_of_posts_above_a_reported_comment_and_of_banned_people(
    browser, case_of, author, make_post, reporter, make_user, drain, media_root
) -> None:
    picture, face = upload(author), upload(author)
    post = make_post(author, visibility="followers", images=[picture.pk])
    relations_actions.follow(reporter, author)
    case_of(COMMENT, actions.comment(author, post.pk, "mine").pk)
    assert browser.get(f"/media/{picture.name}").status_code == 200
    accounts_actions.edit_profile(author, avatar=face.pk)
    author.refresh_from_db()
    accounts_actions.ban(author)
    drain()
    address = f"/media/{author.avatar_name}"
    assert browser.get(address).status_code == 404
    Case.objects.create(kind=USER, subject_id=author.pk, owner=author)
    assert browser.get(address).status_code == 200
    for name in (picture.name, author.avatar_name):
        assert browser_of(make_user()).get(f"/media/{name}").status_code == 404
