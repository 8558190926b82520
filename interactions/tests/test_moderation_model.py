"""Random acts of staff and people, compared after each with a simple model (`moderation_model`)."""

from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.django import TestCase

from accounts import actions as accounts_actions
from accounts.actions import Grounds
from accounts.models import AuditEntry, Role, StaffAct, User
from feeds import actions as feeds_actions
from feeds import queries as feeds_queries
from feeds.models import Post, Visibility
from feeds.tests.exactness.oracle import assert_exact
from interactions import actions, queries
from interactions.actions import recount
from interactions.models import Case, CommentContent, Report, ReportedKind
from interactions.notifying import fold
from interactions.tests import moderation_model as model
from interactions.tests.moderation_model import ADMIN, AUTHOR, FAN, ONE, OTHER, TWO, Facts, Thing
from relations import actions as relations_actions
from socialsite.core import redis
from socialsite.core.errors import AlreadyAppealed, Forbidden, NotFound, UserNotFound
from socialsite.core.events import enqueue, relay

ROLES = {ONE: Role.MODERATOR, TWO: Role.MODERATOR, ADMIN: Role.ADMIN}
REFUSALS = (AlreadyAppealed, Forbidden, NotFound, UserNotFound)
ACTS = 40
Do = Callable[[], Any]


class Site:
    """The people and things of the model on the site, and what it says about them."""

    def __init__(self) -> None:
        redis.call(lambda connection: connection.flushdb())  # an earlier history had other people
        self.people = [
            accounts_actions.register(username=name, nickname=name, password="right.pass1").pk
            for name in model.NAMES
        ]
        for number, role in ROLES.items():
            accounts_actions.promote(self.person(number), Role.MEMBER | role)
        for author in (AUTHOR, OTHER):
            relations_actions.follow(self.person(FAN), self.person(author))
        self.posts = [
            feeds_actions.publish(self.person(author), content=f"post {n}").pk
            for n, author in enumerate(model.POSTS[: model.REPOST])
        ]
        self.posts.append(feeds_actions.repost(self.person(OTHER), self.posts[0])[0].pk)
        self.comments: list[int] = []
        for author, post, parent in model.COMMENTS:
            above = None if parent is None else self.comments[parent]
            made = actions.comment(self.person(author), self.posts[post], "words", above)
            self.comments.append(made.pk)
        self.ids = {"post": self.posts, "comment": self.comments, "user": self.people}
        AuditEntry.objects.all().delete()
        self.edits = 0

    def person(self, number: int) -> User:
        """Return a person as a request reads them."""
        return User.objects.get(pk=self.people[number])

    def ident(self, thing: Thing) -> int:
        return self.ids[thing[0]][thing[1]]

    def case(self, thing: Thing) -> Case:
        kind = ReportedKind[thing[0].upper()]
        return Case.objects.get(kind=kind, subject_id=self.ident(thing))

    def act(self, number: int) -> int:
        """Return the id of an act by its place among all."""
        return StaffAct.objects.order_by("pk").values_list("pk", flat=True)[number]

    def delete(self, actor: User, thing: Thing, grounds: Grounds) -> None:
        if thing[0] == "post":
            feeds_actions.delete(actor, self.ident(thing), grounds=grounds)
        else:
            actions.delete_comment(actor, self.ident(thing), grounds=grounds)

    def edit(self, user: User, thing: Thing, *, narrow: bool) -> None:
        self.edits += 1
        words, ident = f"words {self.edits}", self.ident(thing)
        if thing[0] == "post":
            version = Post.objects.get(pk=ident).content_row.version
            audience = Visibility.SELF if narrow else None
            feeds_actions.edit(user, ident, version, content=words, visibility=audience)
        else:
            version = CommentContent.objects.get(pk=ident).version
            actions.edit_comment(user, ident, words, version)

    def appeal(self, user: User, number: int) -> None:
        accounts_actions.appeal(user, self.act(number), "I do not agree.")

    def deliver(self) -> None:
        """Deliver all events."""
        with enqueue.paused():
            while relay.relay() + fold.sweep():
                pass


class History:
    """The site and the model, on which the same acts are done."""

    def __init__(self) -> None:
        self.site, self.facts = Site(), Facts()

    def do(self, what: str, who: int, pick: int) -> None:
        """Do an act of a person on both and compare them; the pick chooses what it is about."""
        found = getattr(self, f"_{what}")(who, pick)
        if found is None:
            return
        real, expected = map(_result, found)
        assert real == expected, (what, model.NAMES[who], pick)
        self.compare()

    # --- acts of people: on the site, in the model -----------------------------------------------
    def _report(self, who: int, pick: int) -> tuple[Do, Do] | None:
        if self.facts.is_away(who):
            return None
        thing, reason = _picked(model.THINGS, pick), ("spam", "abuse")[pick % 2]
        kind, ident = ReportedKind[thing[0].upper()], self.site.ident(thing)
        return (
            lambda: actions.report(self.site.person(who), kind, ident, reason),
            lambda: self.facts.report(who, thing, reason),
        )

    def _edit(self, who: int, pick: int) -> tuple[Do, Do] | None:
        if self.facts.is_away(who):
            return None
        thing, narrow = _picked(_texts_of(who), pick), pick % 5 == 0
        return (
            lambda: self.site.edit(self.site.person(who), thing, narrow=narrow),
            lambda: self.facts.edit(who, thing, narrow=narrow),
        )

    def _delete(self, who: int, pick: int) -> tuple[Do, Do] | None:
        """Delete one's own text; staff and people without the right delete any."""
        if self.facts.is_away(who) and not self.facts.is_staff(who):
            return None
        thing = _picked(_texts_of(who) if pick % 4 == 0 else _texts(), pick)
        return (
            lambda: self.site.delete(self.site.person(who), thing, Grounds("hate")),
            lambda: self.facts.delete(who, thing, "hate"),
        )

    def _appeal(self, who: int, pick: int) -> tuple[Do, Do] | None:
        """Object, also when one cannot log in; one act in five is somebody else's."""
        known = self.facts.acts
        own = [n for n, act in enumerate(known) if pick % 5 == 0 or act.user == who]
        if not own:
            return None
        number = _picked(own, pick)
        return (
            lambda: self.site.appeal(self.site.person(who), number),
            lambda: self.facts.appeal(who, known[number]),
        )

    def _deliver(self, who: int, pick: int) -> tuple[Do, Do]:
        return self.site.deliver, self.facts.deliver

    # --- acts of staff ---------------------------------------------------------------------------
    def _decide(self, who: int, pick: int) -> tuple[Do, Do]:
        """Warn, limit, suspend or ban a person, from their page."""
        kind = ("warn", "limit", "suspend", "ban")[pick % 4]
        person, grounds = _picked(model.PEOPLE, pick // 4), Grounds("spam", "Please stop.")
        act = getattr(accounts_actions, kind)
        return (
            lambda: _void(act(self.site.person(person), self.site.person(who), grounds=grounds)),
            lambda: _void(self.facts.decide(who, kind, person, "spam")),
        )

    def _lift(self, who: int, pick: int) -> tuple[Do, Do]:
        kind, person = _picked(list(model.LIFTED), pick), _picked(model.PEOPLE, pick // 3)
        act = getattr(accounts_actions, model.LIFTED[kind])
        return (
            lambda: _void(act(self.site.person(person), self.site.person(who))),
            lambda: self.facts.lift(who, kind, person),
        )

    def _undo(self, who: int, pick: int) -> tuple[Do, Do] | None:
        if not self.facts.acts:
            return None
        number = pick % len(self.facts.acts)
        act = self.facts.acts[number]
        return (
            lambda: accounts_actions.undo(self.site.act(number), self.site.person(who)),
            lambda: self.facts.undo(who, act),
        )

    def _answer(self, who: int, pick: int) -> tuple[Do, Do] | None:
        """Grant or refuse an appeal, now and then one that is decided."""
        known = self.facts.acts
        wanted = [n for n, act in enumerate(known) if act.appeal == "open" or pick % 5 == 0]
        if not wanted:
            return None
        number, grant = _picked(wanted, pick), pick % 2 == 0
        act = accounts_actions.grant_appeal if grant else accounts_actions.refuse_appeal
        return (
            lambda: act(self.site.act(number), "Read again.", self.site.person(who)),
            lambda: self.facts.answer(who, known[number], grant=grant),
        )

    def _case(self, who: int, pick: int) -> tuple[Do, Do] | None:
        """Do something about a case."""
        if not self.facts.cases:
            return None
        things = list(self.facts.cases)
        thing = _picked([one for one in things if self.facts.cases[one].reports] or things, pick)
        kind = ("take", "take_over", "give_back", "dismiss", "delete", "delete", "decide")[pick % 7]
        actor, ident = lambda: self.site.person(who), self.site.case(thing).pk
        if kind in ("take", "take_over"):
            over = kind == "take_over"
            return (
                lambda: actions.take_case(actor(), ident, over=over),
                lambda: self.facts.take(who, thing, over=over),
            )
        if kind == "decide":
            what = ("warn", "limit", "suspend", "ban")[pick // 7 % 4]
            act = getattr(actions, f"{what}_reported")
            return (
                lambda: act(actor(), ident),
                lambda: self.facts.decide_case(who, what, thing),
            )
        site, facts = {
            "give_back": (actions.give_back_case, self.facts.give_back),
            "dismiss": (actions.dismiss_reports, self.facts.dismiss),
            "delete": (actions.delete_reported, self.facts.delete_reported),
        }[kind]
        return lambda: site(actor(), ident), lambda: facts(who, thing)

    # --- comparing -------------------------------------------------------------------------------
    def compare(self) -> None:
        self._compare_people()
        self._compare_cases()
        self._compare_acts()
        self._compare_texts()

    def _compare_people(self) -> None:
        ids, facts = self.site.people, self.facts
        people = User.objects.in_bulk(ids)
        for number, ident in enumerate(ids):
            person = people[ident]
            found = (person.limited_at is not None, person.is_suspended, not person.is_active)
            wanted = (number in facts.limit, number in facts.suspend, number in facts.ban)
            assert found == wanted, model.NAMES[number]
        lines = [
            (self._number(actor), action, self._thing(kind, ident))
            for actor, action, kind, ident in AuditEntry.objects.order_by("pk").values_list(
                "actor_id", "action", "subject_type", "subject_id"
            )
        ]
        assert lines == facts.audit

    def _compare_cases(self) -> None:
        found = {
            self._thing(ReportedKind(case.kind).name.lower(), case.subject_id): (
                *(case.open_count, case.reasons, case.outcome, self._number(case.owner_id)),
                *(self._number(case.assignee_id), self._number(case.closed_by_id)),
                Report.objects.filter(case=case, is_open=True).count(),
            )
            for case in Case.objects.all()
        }
        assert found == {
            thing: (
                *(len(case.reports), dict(case.reasons), case.outcome, self.facts.owner(thing)),
                *(case.assignee, case.closed_by),
                len(case.reports),
            )
            for thing, case in self.facts.cases.items()
        }

    def _compare_acts(self) -> None:
        found = []
        for act in StaffAct.objects.select_related("appeal").order_by("pk"):
            appeal = getattr(act, "appeal", None)
            text = act.kind.partition("_")[2]
            found.append(
                model.Act(
                    kind=act.kind,
                    user=self._number(act.user_id),
                    actor=self._number(act.actor_id),
                    thing=self._thing(text, act.subject_id) if text else None,
                    reason=act.reason,
                    stands=act.undone_at is None,
                    undone_by=self._number(act.undone_by_id),
                    appeal="" if appeal is None else appeal.state,
                    decided_by=None if appeal is None else self._number(appeal.decided_by_id),
                )
            )
        assert found == self.facts.acts

    def _compare_texts(self) -> None:
        site, facts = self.site, self.facts
        for viewer in (FAN, AUTHOR):
            person = site.person(viewer)
            seen = feeds_queries.visible_texts(person.pk, site.posts)
            assert [ident in seen for ident in site.posts] == [
                facts.sees_post(viewer, n) for n in range(len(site.posts))
            ]
            assert [self._shows(person, ident) for ident in site.comments] == [
                facts.sees_comment(viewer, n) for n in range(len(site.comments))
            ]
            assert_exact(person)
        ids = [site.people[n] for n in (AUTHOR, OTHER)]
        counts = feeds_queries.post_counts(ids)
        assert [counts[ident] for ident in ids] == [facts.posts_of(n) for n in (AUTHOR, OTHER)]

    @staticmethod
    def _shows(viewer: User, comment_id: int) -> bool:
        try:
            return not queries.visible_comment(viewer, comment_id)[0].deleted
        except NotFound:
            return False

    def _number(self, ident: int | None) -> Any:
        return None if ident is None else self.site.people.index(ident)

    def _thing(self, kind: str, ident: int) -> Thing:
        return kind, self.site.ids[kind].index(ident)


def _result(act: Do) -> Any:
    """Return what an act returns, or the kind of its refusal."""
    try:
        return act()
    except REFUSALS as error:
        return type(error)


def _void(result: Any) -> None:
    """Do not compare what an act returns: on the site it is a row."""


def _picked(items: Any, pick: int) -> Any:
    return items[pick % len(items)]


def _texts() -> list[Thing]:
    return [thing for thing in model.THINGS if thing[0] != "user"]


def _texts_of(person: int) -> list[Thing]:
    return [thing for thing in _texts() if Facts.owner(thing) == person] or _texts()


OF_PEOPLE = st.tuples(
    st.sampled_from(["report", "report", "report", "edit", "delete", "appeal", "appeal"]),
    st.sampled_from([FAN, AUTHOR, OTHER, ONE]),
    st.integers(0, 9_999),
)
OF_STAFF = st.tuples(
    st.sampled_from(["case", "case", "case", "decide", "lift", "undo", "answer", "delete"]),
    st.sampled_from([ONE, TWO, ADMIN, ADMIN, FAN]),
    st.integers(0, 9_999),
)
DELIVERY = st.just(("deliver", FAN, 0))


@pytest.mark.slow(reason="a thousand acts, each compared with the model")
@pytest.mark.timeout(0)
class TestModel(TestCase):
    """Each history has people of its own, and is rolled back."""

    @given(st.lists(st.one_of(OF_PEOPLE, OF_STAFF, DELIVERY), min_size=ACTS, max_size=ACTS))
    def test_any_history_is_that_of_the_plain_facts(self, acts: list[tuple[str, int, int]]) -> None:
        history = History()
        for what, who, pick in acts:
            history.do(what, who, pick)
        history.do("deliver", FAN, 0)
        assert recount.run().wrong == 0
