"""The erasure of a big account, killed again and again: `make chaos ARGS="erasure --likes 50000"`.

A person has thousands of posts and followers and liked tens of thousands of posts. Their account is
closed, and processes that erase it are killed (SIGKILL) after a random number of chunks, while
others like, comment and unfollow. After each kill the events are delivered and compared: the feeds
of some readers with the oracle, and every count with its rows. At the end `verify_erased` finds
nothing.
"""

import os
import random
import signal
import time
from typing import Any

from bench.support import harness

READERS, WRITERS, COMMENTS = 5, 50, 100
STEP = 1000
EMAIL = "somebody@example.org"


class Trial:
    """The person, the others, and what was wrong."""

    def __init__(self, options: Any) -> None:
        from accounts.models import User
        from bench.support import people

        self.dice, self.options = random.Random(options.seed), options
        ids = people.make_people(options.followers + 1)
        people.insert_followers(ids[0], ids[1], options.followers)
        people.count_all()
        self.person = User.objects.get(pk=ids[0])
        User.objects.filter(pk=ids[0]).update(email=EMAIL, email_key=EMAIL)
        self.fans = list(User.objects.filter(pk__in=ids[1:]))
        self.readers = self.dice.sample(self.fans, READERS)
        self.liked = self.like()
        self.write()
        self.wrong = dict.fromkeys(("feeds", "counts", "relations"), 0)
        self.kills = 0

    def like(self) -> list[int]:
        """Let the person like so many posts of others, in bulk; return the posts."""
        from feeds.models import AuthorHead, Post, PostContent
        from interactions.models import Like, Subject, SubjectType
        from socialsite.core import db

        writers, now = self.fans[:WRITERS], db.now_ms()
        number, made = self.options.likes, list[int]()
        for start in range(0, number, STEP):
            places = range(start, min(start + STEP, number))
            posts = [
                Post(author=writers[n % WRITERS], position=now - number + n, mode=0) for n in places
            ]
            Post.objects.bulk_create(posts)
            PostContent.objects.bulk_create(PostContent(post=one, content="x") for one in posts)
            kind = SubjectType.POST
            Subject.objects.bulk_create(
                Subject(subj_type=kind, subj_id=one.pk, like_count=1) for one in posts
            )
            Like.objects.bulk_create(
                Like(subj_type=kind, subj_id=one.pk, user=self.person, thread=0, created_at=now)
                for one in posts
            )
            made += [one.pk for one in posts]
        for writer in writers:
            count = Post.objects.filter(author=writer).count()
            AuthorHead.objects.create(author=writer, last_position=now, post_count=count)
        return made

    def write(self) -> None:
        """Let the person write posts, which readers pull, and comments."""
        from feeds import actions as feeds_actions
        from feeds.models import FanOut, InboxEdge
        from interactions import actions
        from socialsite.core import db
        from socialsite.core.events import enqueue
        from socialsite.core.models import Event

        with enqueue.paused():
            for number in range(self.options.posts):
                feeds_actions.publish(self.person, content=f"post {number} #tag")
            FanOut.objects.all().delete()
            Event.objects.all().delete()
            edges = [
                InboxEdge(viewer=fan, author=self.person, backfilled_from=db.now_ms())
                for fan in self.fans
            ]
            InboxEdge.objects.bulk_create(edges, batch_size=STEP)
            for post_id in self.dice.sample(self.liked, min(COMMENTS, len(self.liked))):
                made = actions.comment(self.person, post_id, "a comment")
                if made.pk % 2:
                    actions.comment(self.dice.choice(self.fans), post_id, "an answer", made.pk)
            self.settle()

    def settle(self) -> None:
        """Deliver all events."""
        from feeds.delivery.fanout import sweep
        from interactions.notifying import fold
        from socialsite.core.events import enqueue, relay
        from socialsite.core.models import Event

        with enqueue.paused():
            while True:
                Event.objects.update(available_at=0)
                if not relay.relay() + sweep.run() + fold.sweep() and not Event.objects.exists():
                    return

    def close(self) -> None:
        """Close the account, long ago."""
        from django.utils import timezone

        from accounts import cache
        from accounts.models import Closing, User

        now = timezone.now()
        User.objects.filter(pk=self.person.pk).update(deleted_at=now)
        Closing.objects.create(user=self.person, closed_at=now, erase_at=now)
        cache.standing_changed(self.person.pk)

    def victim(self, chunks: int) -> int:
        """Start a process that erases and is killed after so many chunks; return its id."""
        from django.conf import settings
        from django.db import connections

        from accounts import erasing
        from socialsite.core.events import enqueue

        connections.close_all()
        child = os.fork()
        if child:
            return child
        try:
            settings.FAILPOINT = f"erasure-chunk:{chunks}"
            with enqueue.paused():
                erasing.work_off(3600)
        finally:
            os._exit(0)

    def round(self, chunks: int) -> None:
        """Kill one process, while others act; then compare."""
        from accounts.models import Closing
        from interactions import actions
        from interactions.models import SubjectType
        from relations import actions as relations_actions
        from socialsite.core.errors import AppError
        from socialsite.core.events import enqueue

        child = self.victim(chunks)
        while not (ended := os.waitpid(child, os.WNOHANG))[0]:
            who, post_id = self.dice.choice(self.fans), self.dice.choice(self.liked)
            with enqueue.paused():
                try:
                    actions.like(who, SubjectType.POST, post_id)
                    actions.comment(who, post_id, "meanwhile")
                    relations_actions.unfollow(who, self.person)
                except AppError:
                    self.wrong["counts"] += 1
            time.sleep(0.05)
        self.kills += os.WIFSIGNALED(ended[1]) and os.WTERMSIG(ended[1]) == signal.SIGKILL
        self.settle()
        Closing.objects.update(lease=0)  # as if it had ended
        self.compare()

    def compare(self) -> None:
        """Compare the feeds of some readers and all counts."""
        from feeds.audit import verify
        from interactions.actions import recount
        from relations.counters import recount as relations_recount

        report = verify.verify(viewer_ids=[reader.pk for reader in self.readers])
        self.wrong["feeds"] += report.posts
        self.wrong["counts"] += recount.run().wrong
        self.wrong["relations"] += relations_recount.run().wrong

    def is_erased(self) -> bool:
        """Return whether the account is erased."""
        from accounts.models import Closing

        return Closing.objects.filter(pk=self.person.pk, erased_at__isnull=False).exists()

    def left(self) -> list[Any]:
        """Return what `verify_erased` finds."""
        from accounts.erasing import verifying

        person = verifying.Person(self.person.pk, self.person.username, EMAIL)
        return [found for found in verifying.verify(person) if not found.reason]


def main() -> int:
    """Erase a big account and report."""
    sizes = {"--posts": 200, "--likes": 2000, "--followers": 500, "--kills": 10}
    options = harness.arguments("Kills during the erasure of a big account.", sizes)
    harness.setup()
    report = harness.Report("erasure", options)
    trial = Trial(options)
    trial.close()
    trial.compare()
    chunks = (options.posts * 3 + options.likes + options.followers * 2) // 50
    began = time.monotonic()
    # A process that has to wait for events ends by itself: another one goes on.
    most = max(1, int(1.6 * chunks / options.kills))
    while trial.kills < options.kills and not trial.is_erased():
        trial.round(trial.dice.randint(1, most))
        report.say(f"- {trial.kills} kills after {time.monotonic() - began:.0f} s")
    rounds = 0
    while not trial.is_erased() and rounds < 50:
        trial.round(10**9)
        rounds += 1
    report.say(f"- erased after {time.monotonic() - began:.0f} s")
    found = trial.left()
    for one in found:
        report.say(f"- left: {one}")
    report.goal("kills", trial.kills, exactly=options.kills)
    for name, value in trial.wrong.items():
        report.goal(f"wrong {name}", value, exactly=0)
    report.goal("places with something left", len(found), exactly=0)
    report.goal("not erased", int(not trial.is_erased()), exactly=0)
    return report.finish()


if __name__ == "__main__":
    raise SystemExit(main())
