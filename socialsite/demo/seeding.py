"""Fills a site with the demo: first what a visitor sees first, then everything else.

- All writes go through the actions that requests use, while the site serves: short transactions
  with pauses in between, and only a short backlog of events.
- A step (a post and what people do with it) is one transaction, and posts are created in a fixed
  order (`demo.order`). So the number of posts says where a killed run continues, and a complete run
  changes nothing, whatever people did to the demo meanwhile.
- A site with its own people and without the demo is left unchanged.
"""

import contextlib
import gc
import logging
import time
from collections import deque
from collections.abc import Callable, Collection, Iterator
from concurrent.futures import Executor, ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any, TypeVar

from accounts import actions as accounts_actions
from accounts.credentials import passwords
from accounts.models import Role, User
from feeds import actions as feeds_actions
from feeds.content.polls.definition import Given
from feeds.delivery.fanout import sweep
from feeds.discovery.tags import ranking
from feeds.models import FanOutChunk, Post, RecommendedAuthor
from interactions import actions as interactions_actions
from interactions.actions import rising
from interactions.models import SubjectType
from relations import actions as relations_actions
from socialsite.core import db
from socialsite.core.errors import AppError, DuplicatedUser
from socialsite.core.events import enqueue, relay
from socialsite.core.media import encoding
from socialsite.core.media import pictures as media_pictures
from socialsite.core.models import Event, SiteDocument
from socialsite.demo import graph, pictures
from socialsite.demo.order import Act, Order
from socialsite.demo.people import BIG_AUTHOR, EMAIL_DOMAIN, LOGINS, PASSWORD, Person, make
from socialsite.demo.plan import Plan, Step, Thread
from socialsite.demo.words import site_texts
from socialsite.tasks import count_days

logger = logging.getLogger(__name__)

R = TypeVar("R")
Progress = Callable[[str, int, int], None]

RECOMMENDED = 14
# Pause after a transaction, as a share of its duration: requests use the single lock meanwhile.
REST = 0.12
REST_MIN_SECONDS = 0.001
# Above this number of waiting events or chunks the seeding does some background work itself.
BACKLOG = 40
LOOK_EVERY = 8
# Posts do not wait for all follows and avatars: later steps create the rest, spread over these
# shares of all steps.
FOLLOWS_SHARE, AVATARS_SHARE = 0.2, 0.4
POLL_MS = 7 * 86_400_000
# Steps whose pictures are drawn in advance.
AHEAD = 6


class Stopped(Exception):
    """The caller asked to stop."""


def seed(
    progress: Progress | None = None,
    stop: Callable[[], bool] = lambda: False,
    *,
    people: int = 300,
    posts: int = 3000,
) -> None:
    """Fill the site; continue where an earlier run ended. `progress` gets (what, done, total).

    `stop` is called between transactions.
    """
    with contextlib.suppress(Stopped), enqueue.paused():
        _Seeding(progress or (lambda what, done, total: None), stop, people, posts).run()


@dataclass(frozen=True, slots=True)
class _Drawings:
    """Drawings of a step: pictures with their descriptions, and avatars by person."""

    pictures: list[tuple[encoding.Picture, str]]
    avatars: dict[int, encoding.Picture]


class _Seeding:
    """One run."""

    def __init__(
        self, progress: Progress, stop: Callable[[], bool], people: int, posts: int
    ) -> None:
        self._progress = progress
        self._stop = stop
        self._people = make(people)
        self._posts = posts
        self._follows = graph.make(people)
        self._urgent = [pair for pair in self._follows if graph.is_urgent(pair)]
        self._later = self._follows[len(self._urgent) :]
        # Index in the list → account; a person whose name was already taken is missing.
        self._users: dict[int, User] = {}
        self._followed: set[tuple[int, int]] = set()
        self._turns = 0

    def run(self) -> None:
        """Create everything that is missing."""
        self._find_people()
        if self._users and self._posts_done() >= self._posts:
            return
        if not self._users and User.objects.exists():
            logger.info("the site already has people; no demo data added")
            return
        # Exclude loaded objects from garbage collection: a like takes 4 ms instead of 7.
        gc.collect()
        gc.freeze()
        done = self._posts_done()
        _describe_site()
        self._plan()
        first = len(self._order.first)
        if done == 0:
            self._invite(self._order.people)
        if done < first:
            self._publish(self._order.steps[done:first], done)
            self._drain()
        if done <= first:
            self._invite({person.number for person in self._people})
            done = first
        self._publish(self._order.steps[done:], done)
        self._drain()
        ranking.rank()
        rising.rank()
        count_days()

    def _plan(self) -> None:
        fans = graph.fans_of(self._follows)
        self._best = sorted(fans, key=lambda number: -len(fans[number]))[:RECOMMENDED]
        steps = list(Plan(self._people, self._follows, self._posts).steps())
        self._order = Order(steps, [*range(LOGINS), BIG_AUTHOR, *self._best])

    def _invite(self, numbers: Collection[int]) -> None:
        """Create people, recommend the best of them, and let them follow."""
        self._make_people(numbers)
        self._recommend()
        self._follow_first()

    # --- people and follows ---------------------------------------------------------------------
    def _find_people(self) -> None:
        emails = {person.email: person.number for person in self._people}
        found = User.objects.filter(email__endswith=f"@{EMAIL_DOMAIN}")
        self._users = {emails[user.email]: user for user in found if user.email in emails}

    def _make_people(self, wanted: Collection[int]) -> None:
        missing = [
            person
            for person in self._people
            if person.number in wanted and person.number not in self._users
        ]
        hashed = passwords.hash_password(PASSWORD) if missing else ""
        for person in self._each("people", missing, len(self._users)):
            with contextlib.suppress(DuplicatedUser):
                self._users[person.number] = _register(person, hashed)
            # At once: a change of roles signs the user out.
            if person.number == 0 and 0 in self._users:
                accounts_actions.promote(self._users[0], Role.MEMBER | Role.ADMIN)

    def _recommend(self) -> None:
        """Recommend the most followed authors for the guests' page, as staff would."""
        picked = [self._users[number] for number in self._best if number in self._users]
        db.insert_ignore(RecommendedAuthor, [RecommendedAuthor(author=user) for user in picked])

    def _follow(self, follower: int, author: int) -> None:
        if follower in self._users and author in self._users:
            with contextlib.suppress(AppError):
                relations_actions.follow(self._users[follower], self._users[author])

    def _follow_first(self) -> None:
        known = [pair for pair in self._urgent if self._users.keys() >= {*pair}]
        for pair in self._each("follows", [pair for pair in known if pair not in self._followed]):
            self._follow(*pair)
            self._followed.add(pair)
        # Tiers of authors depend on counters, and counters on events.
        while relay.relay():
            self._check()

    # --- posts ----------------------------------------------------------------------------------
    @property
    def _begun_ms(self) -> int:
        """The start of the demo, from which ages count; demo posts are older, all others newer."""
        first = min(user.created_at for user in self._users.values())
        return int(first.timestamp() * 1000)

    def _demo_posts(self) -> Any:
        ids = [user.pk for user in self._users.values()]
        return Post.objects.filter(author_id__in=ids, position__lt=self._begun_ms)

    def _posts_done(self) -> int:
        return int(self._demo_posts().count()) if self._users else 0

    def _publish(self, steps: list[Step], done: int) -> None:
        self._begun = self._begun_ms
        made = self._demo_posts().order_by("position", "id").values_list("pk", flat=True)
        # The times of posts ascend with the numbers of their steps.
        numbers = sorted(step.number for step in self._order.steps[:done])
        self._ids = dict(zip(numbers, made, strict=True))
        gc.freeze()
        # While the database works on a step, another core draws the pictures of the next ones.
        with ThreadPoolExecutor(1, thread_name_prefix="demo-pictures") as artist:
            drawn = _ahead(artist, self._draw, steps)
            for step, drawings in zip(self._each("posts", steps, done), drawn, strict=True):
                self._hang(drawings.avatars)
                author = self._author(step.author).pk
                images = [
                    _store_picture(author, picture, alt) for picture, alt in drawings.pictures
                ]
                self._ids[step.number] = self._take(step, images)

    def _author(self, number: int) -> User:
        """Return the account of an author; if the name was taken, the big author's or the first."""
        found = self._users.get(number) or self._users.get(BIG_AUTHOR)
        return found or next(iter(self._users.values()))

    def _draw(self, step: Step) -> _Drawings:
        """Draw the pictures of a step and some avatars; does not use the database."""
        people = [person for person in self._people if person.avatar]
        faces = self._share(people, step, AVATARS_SHARE)
        if self._order.place(step) < len(self._order.first):
            faces = [person for person in people if person.number == step.author]
        return _Drawings(
            [(encoding.encode(pictures.draw(each)), each.alt) for each in step.pictures],
            {one.number: encoding.encode(pictures.avatar(one.username)) for one in faces},
        )

    def _share(self, items: list[R], step: Step, share: float) -> list[R]:
        """Return one step's portion of work that is spread over a share of all steps.

        None for the first ones: there is work that they wait for already.
        """
        place, steps = self._order.place(step) - len(self._order.first), self._posts * share
        first, last = (int(len(items) * max(0, one) / steps) for one in (place, place + 1))
        return items[first:last]

    def _hang(self, avatars: dict[int, encoding.Picture]) -> None:
        for number, picture in avatars.items():
            user = self._users.get(number)
            if user is not None and not user.avatar:
                accounts_actions.edit_profile(user, avatar=_store_picture(user.pk, picture, ""))

    @db.atomic
    def _take(self, step: Step, images: list[int]) -> int:
        """Run one step in one transaction; return the id of its post."""
        at = self._begun - step.age_ms
        post = self._post(step, images, at)
        for pair in self._share(self._later, step, FOLLOWS_SHARE):
            self._follow(*pair)
        ids = {**self._ids, step.number: post.pk}
        for act in self._order.acts(step):
            # People cannot act on a post that is hidden from them, and users of the site may hide
            # posts.
            with contextlib.suppress(AppError):
                self._act(act, ids[act.target])
        return post.pk

    def _act(self, act: Act, post_id: int) -> None:
        person = self._author(act.people[0])
        if act.thread is not None:
            self._comment(act.thread, post_id, self._begun - act.age_ms)
        elif act.choice is not None:
            interactions_actions.vote(person, post_id, [act.choice])
        elif act.is_bookmark:
            interactions_actions.bookmark(person, post_id)
        else:
            interactions_actions.like(person, SubjectType.POST, post_id)

    def _post(self, step: Step, images: list[int], at: int) -> Post:
        author = self._author(step.author)
        if step.shares is not None:
            words = "" if step.quiet else step.text.content
            with contextlib.suppress(AppError):
                post, is_new = feeds_actions.repost(author, self._ids[step.shares], words, at_ms=at)
                if is_new:
                    return post
        return feeds_actions.publish(
            author,
            content=step.text.content,
            kind=step.text.kind,
            title=step.text.title,
            images=images,
            video_url=step.text.video_url,
            visibility=step.visibility,
            poll=self._poll(step, at),
            at_ms=at,
        )

    def _poll(self, step: Step, at: int) -> Given | None:
        if not step.options:
            return None
        return Given(options=[*step.options], multiple=False, ends_at=at + POLL_MS, lasts=None)

    def _comment(self, thread: Thread, post_id: int, at: int) -> None:
        said = thread.comment
        comment = interactions_actions.comment(
            self._author(said.person), post_id, said.words, at_ms=at
        )
        for reply in thread.replies:
            at += 1
            interactions_actions.comment(
                self._author(reply.person), post_id, reply.words, comment.pk, at_ms=at
            )

    # --- pace -----------------------------------------------------------------------------------
    def _each(self, what: str, items: list[Any], done: int = 0) -> Iterator[Any]:
        """Yield items with progress, pauses and a share of the background work in between."""
        total = done + len(items)
        self._progress(what, done, total)
        for number, item in enumerate(items, start=done + 1):
            self._check()
            began = time.perf_counter()
            yield item
            time.sleep(max(REST_MIN_SECONDS, REST * (time.perf_counter() - began)))
            self._progress(what, number, total)
            self._turns += 1
            if self._turns % LOOK_EVERY == 0:
                self._help()

    def _help(self) -> None:
        """Keep the queues short, so that work of real users does not wait behind the demo."""
        waiting = Event.objects.filter(dead=False).count()
        if waiting > BACKLOG:
            relay.relay(waiting - BACKLOG // 2)
        if FanOutChunk.objects.filter(done=False).count() > BACKLOG:
            sweep.run()

    def _drain(self) -> None:
        """Do all work that waits, so that feeds and notifications are complete."""
        while relay.relay() + sweep.run():
            self._check()

    def _check(self) -> None:
        if self._stop():
            raise Stopped


def _describe_site() -> None:
    """Publish what the site is about, and its rules, unless staff have written texts."""
    if SiteDocument.objects.exists():
        return
    for kind, words in site_texts().items():
        columns = {f"text_{code.replace('-', '_')}": text.strip() for code, text in words.items()}
        accounts_actions.publish_document(SiteDocument.Kind(kind), columns)


def _ahead(artist: Executor, work: Callable[[Step], R], steps: list[Step]) -> Iterator[R]:
    """Yield the result of the work on each step, and compute the next few steps in advance."""
    under_way = deque(artist.submit(work, step) for step in steps[:AHEAD])
    for number in range(len(steps)):
        under_way.extend(artist.submit(work, step) for step in steps[number + AHEAD :][:1])
        yield under_way.popleft().result()


def _store_picture(owner_id: int, picture: encoding.Picture, alt: str) -> int:
    with media_pictures.no_orphans(picture):
        return int(media_pictures.store(owner_id, picture, alt).pk)


@db.atomic
def _register(person: Person, hashed: str) -> User:
    user = accounts_actions.register(
        person.username, person.nickname, PASSWORD, person.email, password_hash=hashed
    )
    return accounts_actions.edit_profile(user, bio=person.bio)


DEMO_LOGINS: list[tuple[str, str]] = [(p.username, PASSWORD) for p in make(LOGINS)[:LOGINS]]
