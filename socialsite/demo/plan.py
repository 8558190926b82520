"""The plan of the demo site, step by step: a post with its likes and comments.

The plan is generated from fixed seeds and walked from the first step in every run, so that step n
is always the same, whatever was done before. Times are ages: ms before the start of the demo.
"""

import itertools
from collections.abc import Iterator
from dataclasses import dataclass, field
from random import Random

from feeds.models import Visibility
from socialsite.demo import graph, pictures
from socialsite.demo.people import BIG_AUTHOR, LOGINS, Person
from socialsite.demo.words import ANY, LANGUAGES, Text, Writer, texts

DAY_MS = 86_400_000
SPAN_MS = 35 * DAY_MS
# Above 1: more posts a day towards the end, so that the last minutes are not empty.
CROWDING = 1.6
LIKES_A_POST = 1.3
THREADS_A_POST = 0.5
BIG_SHARE = 0.04
LOGIN_SHARE = 0.007
FOLLOWERS_ONLY = 0.06
RECENT_POSTS = 80
NOVELTY = 6
# The share of steps that repost an earlier post, and the share of those without words.
SHARED, QUIET = 0.04, 0.3
BOOKMARKS_PER_POST, BOOKMARKS_BY_LOGINS = 0.1, 0.5
BUSY, BUSY_END = 5, 60
KINDS = {"micro": 0.86, "article": 0.08, "video": 0.06}
# The share of posts of a kind that have pictures; photographers have more.
PICTURED = {"micro": 0.055, "article": 0.12, "video": 0.0}
PICTURED_FILM, PICTURED_LATE = 0.25, 0.35
# Places from the end: the posts with a poll, and one of the first log-in account.
POLLED, FIRST_LOGIN = (4, 30), 9
VOTERS = 30


@dataclass(frozen=True, slots=True)
class CommentPlan:
    """One comment or reply; `person` is an index in the list of people."""

    person: int
    words: str


@dataclass(frozen=True, slots=True)
class Thread:
    """A comment on the post of a step, and its replies."""

    step: int
    comment: CommentPlan
    replies: list[CommentPlan]


@dataclass(frozen=True, slots=True)
class Step:
    """One post, then likes and bookmarks (step, person) and threads on this and earlier posts.

    With `shares` it is a repost of the post of that step. If that post can no longer be reposted,
    because of a block or deletion, it is a plain post with these words.
    """

    number: int
    author: int
    age_ms: int
    text: Text
    visibility: str
    pictures: list[pictures.Drawing]
    likes: list[tuple[int, int]] = field(default_factory=list)
    threads: list[Thread] = field(default_factory=list)
    bookmarks: list[tuple[int, int]] = field(default_factory=list)
    shares: int | None = None
    quiet: bool = False
    # The options of a poll, and its votes: (person, place of the option).
    options: tuple[str, ...] = ()
    votes: list[tuple[int, int]] = field(default_factory=list)


@dataclass(frozen=True, slots=True)
class _Post:
    """The data that the plan keeps of a post."""

    author: int
    language: str
    topic: str
    followers_only: bool
    appeal: float
    shares: bool


class Plan:
    """All steps for these people and follows."""

    def __init__(self, people: list[Person], follows: list[tuple[int, int]], total: int) -> None:
        self._people = people
        self._total = total
        self._fans = graph.fans_of(follows)
        self._rng = Random("plan")
        # Separate random generators, so that these choices do not change all others.
        self._sharing, self._bookmarking = Random("shares"), Random("kept")
        self._polling = Random("polls")
        self._sharer = Writer(Random("words of shares"))
        self._shown: set[tuple[int, int]] = set()
        self._writer = Writer(Random("words"))
        self._posts: list[_Post] = []
        self._liked: set[tuple[int, int]] = set()
        self._weights = [self._weight(person.number) for person in people]
        self._speakers = {
            language: [person.number for person in people if person.language == language]
            for language in LANGUAGES
        }

    def steps(self) -> Iterator[Step]:
        """Yield all steps, oldest post first."""
        for number, age in enumerate(self._ages()):
            step = self._post(number, age)
            busy = BUSY if self._is_late(number) else 1
            for _like in range(self._count(LIKES_A_POST * busy)):
                step.likes.extend(self._like())
            for _thread in range(self._count(THREADS_A_POST * busy)):
                step.threads.append(self._thread())
            if self._bookmarking.random() < BOOKMARKS_PER_POST:
                step.bookmarks.append(self._bookmark())
            yield step

    def _is_late(self, number: int) -> bool:
        """Return True for the newest posts, which should not look as if nobody had seen them."""
        return self._total - number <= BUSY_END

    def _ages(self) -> list[int]:
        """Return the ages of the posts, each in a different ms."""
        places = [(n + self._rng.random()) / self._total for n in range(self._total)]
        ages = sorted((int(SPAN_MS * (1 - place) ** CROWDING) for place in places), reverse=True)
        for older, newer in itertools.pairwise(range(len(ages))):
            ages[newer] = min(ages[newer], ages[older] - 1)
        shift = max(0, 1 - ages[-1]) if ages else 0
        return [age + shift for age in ages]

    def _weight(self, number: int) -> float:
        """Return the author's share of the posts, up to a constant factor."""
        fans = len(self._fans.get(number, ()))
        if number == BIG_AUTHOR or number < LOGINS:
            return 0.0  # their shares are fixed
        return fans**0.6 if fans else (0.25 if number % 4 == 0 else 0.0)

    def _author(self) -> int:
        chance = self._rng.random()
        if chance < BIG_SHARE:
            return BIG_AUTHOR
        if chance < BIG_SHARE + LOGINS * LOGIN_SHARE or not any(self._weights):
            return self._rng.randrange(LOGINS)
        return self._rng.choices(range(len(self._people)), self._weights)[0]

    def _post(self, number: int, age: int) -> Step:
        rng = self._rng
        left = self._total - number
        author = self._people[0 if left == FIRST_LOGIN else self._author()]
        topic = rng.choices(author.topics, [3, 2, 1][: len(author.topics)])[0]
        kind = rng.choices(list(KINDS), list(KINDS.values()))[0]
        followers_only = kind == "micro" and rng.random() < FOLLOWERS_ONLY
        is_poll = left in POLLED
        if is_poll:
            kind, followers_only = "micro", False
        share = PICTURED_FILM if topic == "film" and kind == "micro" else PICTURED[kind]
        if self._is_late(number) and kind != "video":
            share = PICTURED_LATE
        drawings = []
        if rng.random() < share:
            for place in range(rng.choices((1, 2, 3, 4), (70, 14, 10, 6))[0]):
                drawings.append(pictures.choose(f"{number}/{place}", topic, author.language))
        shared = None if followers_only or is_poll else self._shared(author)
        self._posts.append(
            _Post(
                author=author.number,
                language=author.language,
                topic=topic,
                followers_only=followers_only,
                appeal=(len(self._fans.get(author.number, ())) + 1) ** 0.7
                * rng.lognormvariate(0, 0.8)
                * (2 if drawings else 1),
                shares=shared is not None,
            )
        )
        text = self._writer.post(author.number, author.language, topic, kind)
        if shared is not None:
            about = self._posts[shared].topic
            text = Text("micro", self._sharer.comment(shared, author.language, about))
        options: tuple[str, ...] = ()
        if is_poll:
            text, options = self._poll(author.language)
        return Step(
            number=number,
            author=author.number,
            age_ms=age,
            text=text,
            visibility=Visibility.FOLLOWERS if followers_only else Visibility.PUBLIC,
            pictures=drawings if shared is None else [],
            shares=shared,
            quiet=shared is not None and self._sharing.random() < QUIET,
            options=options,
            votes=self._votes(author.language, author.number, len(options)),
        )

    def _poll(self, language: str) -> tuple[Text, tuple[str, ...]]:
        """Return a question and its options."""
        question, *options = self._polling.choice(texts(language)[ANY]["polls"])
        return Text("micro", question), tuple(options)

    def _votes(self, language: str, author: int, options: int) -> list[tuple[int, int]]:
        """Return votes of people who read the language, for so many options."""
        if not options:
            return []
        others = [person for person in self._speakers[language] if person != author]
        voters = self._polling.sample(others, min(VOTERS, len(others)))
        weights = [self._polling.random() + 0.2 for _ in range(options)]
        return [(one, self._polling.choices(range(options), weights)[0]) for one in voters]

    def _shared(self, author: Person) -> int | None:
        """Return the step whose post this one reposts, or None."""
        if self._sharing.random() >= SHARED:
            return None
        first = max(0, len(self._posts) - RECENT_POSTS)
        found = [
            number
            for number, post in enumerate(self._posts[first:], first)
            if post.author != author.number
            and post.language == author.language
            and not post.followers_only
            and not post.shares
            and (author.number, number) not in self._shown
        ]
        if not found:
            return None
        chosen = self._sharing.choices(found, [self._posts[number].appeal for number in found])[0]
        self._shown.add((author.number, chosen))
        return chosen

    def _bookmark(self) -> tuple[int, int]:
        """Return a recent post and a person who bookmarks it, often a log-in account."""
        last = len(self._posts) - 1
        target = self._bookmarking.randint(max(0, last - RECENT_POSTS), last)
        if self._bookmarking.random() < BOOKMARKS_BY_LOGINS:
            return target, self._bookmarking.randrange(min(LOGINS, len(self._people)))
        return target, self._bookmarking.choice(self._people).number

    def _count(self, mean: float) -> int:
        """Return a random whole number with this mean."""
        return int(mean) + (self._rng.random() < mean % 1)

    def _target(self) -> int:
        """Return the step of a recent post; newer and more appealing posts are more likely."""
        last = len(self._posts) - 1
        steps = range(max(0, last - RECENT_POSTS), last + 1)
        weights = [self._posts[n].appeal / (last - n + NOVELTY) for n in steps]
        return self._rng.choices(steps, weights)[0]

    def _reader(self, post: _Post) -> int | None:
        """Return a person who may see a post: often a follower, else a reader of its language."""
        fans = self._fans.get(post.author, [])
        if fans and (post.followers_only or self._rng.random() < 0.6):
            return self._rng.choice(fans)
        if post.followers_only:
            return None
        found = self._rng.choice(self._speakers[post.language])
        return None if found == post.author else found

    def _like(self) -> Iterator[tuple[int, int]]:
        """Yield one new like, if a few tries find one."""
        for _try in range(8):
            target = self._target()
            person = self._reader(self._posts[target])
            if person is not None and (target, person) not in self._liked:
                self._liked.add((target, person))
                yield target, person
                return

    def _thread(self) -> Thread:
        target = self._target()
        post = self._posts[target]
        person = self._reader(post)
        if person is None:
            person = post.author
        # People comment in the language of the post; every follower can read it.
        comment = CommentPlan(person, self._writer.comment(target, post.language, post.topic))
        replies = []
        if self._rng.random() < 0.2:
            replies.append(CommentPlan(post.author, self._writer.reply(target, post.language)))
        if replies and self._rng.random() < 0.35:
            replies.append(CommentPlan(person, self._writer.reply(target, post.language)))
        return Thread(target, comment, replies)
