"""Types of messages are registered by the apps; others are refused."""

import logging

import pytest

from accounts import actions, live_hint_types, live_hints
from accounts.tests.live.talk import Socket, in_thread, run

pytestmark = [pytest.mark.once, pytest.mark.django_db(transaction=True)]


@pytest.mark.parametrize("name", ["newposts", "", None, 1])
def test_a_message_of_an_unknown_type_is_refused(name, make_user, caplog) -> None:
    user = make_user()
    pair = actions.sign_in(user)

    async def scenario() -> None:
        socket = Socket.by_cookie(pair.access)
        assert await socket.open()
        with caplog.at_level(logging.ERROR, logger=live_hints.__name__):
            await in_thread(live_hints.push, [user.pk], {"type": name})
        await in_thread(live_hints.push, [user.pk], {"type": "new_posts", "count": 1})
        assert await socket.receive() == {"type": "new_posts", "count": 1}
        await socket.leave()

    run(scenario)
    assert f"message type {name!r} is not registered" in caplog.text


def test_a_type_is_registered_once() -> None:
    with pytest.raises(ValueError, match="kicked"):
        live_hint_types.register("kicked")
