"""Ways to end a sign-in, and failures of the process that does it.

`make chaos ARGS="revocation"` measures how long a token is accepted after each of them.
"""

import itertools
import os
import signal
import traceback
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, NamedTuple

PASSWORD, NEW_PASSWORD = "right.pass1", "other.pass2"
MODERATOR = 2


class Way(NamedTuple):
    """One way to end a sign-in on "chrome"; `prepare` runs before it, `mend` restores the state."""

    act: Callable[[Any], Any]
    prepare: Callable[[Any], Any] = lambda user: None
    mend: Callable[[Any], Any] = lambda user: None


def change(user: Any) -> None:
    """Change the password from "firefox", between two alternating ones."""
    from django.contrib.auth.hashers import check_password

    from accounts import actions

    now = type(user).objects.values_list("password", flat=True).get(pk=user.pk)
    old, new = PASSWORD, NEW_PASSWORD
    if not check_password(old, now):
        old, new = new, old
    actions.change_password(user, "firefox", old, new)


def ways(actions: Any) -> Iterator[Way]:
    """Yield the ways to end a sign-in in turn, endlessly."""
    return itertools.cycle(
        [
            Way(lambda user: actions.log_out(user, "chrome")),
            Way(lambda user: actions.kick(user, "chrome", by="Firefox, Linux")),
            Way(lambda user: actions.sign_in(user, "chrome")),
            Way(change, prepare=lambda user: actions.sign_in(user, "firefox")),
            Way(actions.ban, mend=actions.unban),
            Way(actions.force_offline),
            Way(
                lambda user: actions.promote(user, user.roles ^ MODERATOR),
                mend=lambda user: user.refresh_from_db(),
            ),
        ]
    )


def killed(act: Callable[[Any], Any], user: Any) -> None:
    """Revoke in a process that is killed right after the commit.

    Raises RuntimeError when the process ended in another way.
    """
    from django.db import connections

    from accounts.actions import revocation

    connections.close_all()
    child = os.fork()
    if child == 0:
        try:
            revocation.announce = lambda event, committed_at=None: os.kill(
                os.getpid(), signal.SIGKILL
            )
            act(user)
        except BaseException:
            traceback.print_exc()
        finally:
            # The caller's frames, with its pollers and servers, belong to the parent.
            os._exit(1)
    _, status = os.waitpid(child, 0)
    if not (os.WIFSIGNALED(status) and os.WTERMSIG(status) == signal.SIGKILL):
        raise RuntimeError("the revoking process was not killed")


@contextmanager
def cut_off() -> Iterator[None]:
    """Cut this process off from Redis."""
    from socialsite.core import redis

    def down(function: Any) -> Any:
        raise redis.RedisDown("cut off")

    call, redis.call = redis.call, down
    try:
        yield
    finally:
        redis.call = call
