"""Pages in HTML, compared with the home page of the same run: `make bench ARGS="pages"`.

A member with 100 follows reads the pages of a small site: a post with 50 comments, notifications,
search, a list of followers, a profile; a guest reads the recommended posts. The goals are shares of
the home page's requests per second. The size of the home page's HTML is a goal as well.
"""

import random
from typing import Any

from bench.support import harness, http

CONNECTIONS = 8
PEOPLE, FOLLOWS, POSTS_EACH, COMMENTS = 300, 100, 5, 50
SHARES = {
    "post with 50 comments": 0.4,
    "notifications": 0.5,
    "search": 0.5,
    "followers": 0.5,
    "profile": 0.5,
    "recommended, guest": 0.5,
}
HOME_KB = 60


def world(seed: int) -> tuple[Any, Any, int]:
    """Create the site; return the reader, an author with followers, and the post with comments."""
    from accounts import actions as accounts_actions
    from accounts.models import User
    from bench.support import feeds, people
    from feeds import actions as feeds_actions
    from interactions import actions as interactions_actions
    from relations import actions as relations_actions
    from socialsite.core.events import enqueue, relay

    dice = random.Random(seed)
    ids = people.make_people(PEOPLE)
    people.count_all()
    # The names of the others are too short for a profile.
    author = accounts_actions.register("author", "Author", "right.pass1")
    feeds.make_posts([*ids[1:], author.pk], POSTS_EACH, seed=seed)
    users = User.objects.in_bulk(ids)
    reader = users[ids[0]]
    with enqueue.paused():
        for ident in ids[1 : FOLLOWS + 1]:
            relations_actions.follow(reader, users[ident])
            relations_actions.follow(users[ident], author)
        post = feeds_actions.publish(reader, content="A post with many comments")
        for number, ident in enumerate(dice.sample(ids[1:], COMMENTS)):
            text = f"Comment {number}: a word on tea & rain, 春天来了"
            interactions_actions.comment(users[ident], post.pk, text)
        while relay.relay():
            pass
    return reader, author, post.pk


def requests(reader: Any, author: Any, post_id: int) -> dict[str, bytes]:
    """Return the request of each page."""
    from accounts import actions as accounts_actions

    token = accounts_actions.sign_in(reader, "chrome").access
    member = (f"Cookie: access={token}; csrf={'x' * 32}", "Accept-Language: en")
    return {
        "home": http.request("/", *member),
        "post with 50 comments": http.request(f"/posts/{post_id}", *member),
        "notifications": http.request("/notifications", *member),
        "search": http.request("/search?q=b1", *member),
        "followers": http.request(f"/@{author.username}/followers", *member),
        "profile": http.request(f"/@{author.username}", *member),
        "recommended, guest": http.request("/recommended", "Accept-Language: en"),
    }


def main() -> int:
    """Measure."""
    options = harness.arguments(__doc__ or "", {"--turns": 9, "--milliseconds": 1000})
    harness.setup()

    from django.core.management import call_command

    call_command("collectstatic", interactive=False, verbosity=0)
    report = harness.Report("pages", options)
    sent = requests(*world(options.seed))
    with http.site() as site:
        connection = http.Connection(site.sockets[0])
        rows = [[name, f"{len(connection.ask(one)) / 1000:.0f}"] for name, one in sent.items()]
        home_kb = len(connection.ask(sent["home"])) / 1000
        connection.close()
        report.rows(rows, ["page", "kB of HTML"])
        loads = http.compare(
            {name: http.Asked(site, [one]) for name, one in sent.items()},
            options,
            connections=CONNECTIONS,
        )
    http.table(report, loads, "home", f"{CONNECTIONS} connections:")
    for name, share in SHARES.items():
        report.goal(f"{name} / home, requests/s", loads[name].of(loads["home"]), at_least=share)
    report.goal("kB of HTML of the home page", home_kb, at_most=HOME_KB)
    return report.finish()


if __name__ == "__main__":
    raise SystemExit(main())
