"""Types of messages are registered by the apps; others are refused."""

import logging
from dataclasses import asdict

import pytest

from accounts import actions, cache, live_hint_types, live_hints, tokens
from accounts.tests.live.talk import Socket, in_thread, run
from socialsite.core.runtime import request_ids

HINT = {"type": "new_posts", "count": 1}
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


def test_a_socket_ignores_what_only_a_newer_version_knows(make_user) -> None:
    user = make_user()
    ticket = cache.store_ticket({**_claims(user), "colour": "blue"})

    async def scenario() -> None:
        socket = Socket(ticket=ticket)
        assert await socket.open()
        await in_thread(live_hints._send, [user.pk], {"type": "session.sing", "song": "new"})
        await in_thread(live_hints.push, [user.pk], {"type": "new_posts", "count": 1})
        assert await socket.receive() == {"type": "new_posts", "count": 1}
        await socket.leave()

    run(scenario)


def test_all_lines_about_a_socket_have_the_id_of_its_handshake(make_user, settings) -> None:
    settings.TRUSTED_PROXIES = 1
    access = actions.sign_in(make_user()).access
    found: dict[str, str] = {}

    class Seen(logging.Handler):
        def emit(self, record: logging.LogRecord) -> None:
            text = record.getMessage()
            found[text.split()[-1].split(".")[-1]] = request_ids.current()

    idents = {"a": "a" * 32, "b": "b" * 32}

    async def scenario() -> None:
        for name, ident in idents.items():
            header = (b"x-request-id", ident.encode())
            socket = Socket.by_bearer(access, header)
            assert await socket.open()
            message = {"type": f"session.{name}"}
            await in_thread(live_hints._send, [tokens.decode_access(access).user_id], message)
            await in_thread(live_hints.push, [tokens.decode_access(access).user_id], HINT)
            assert await socket.receive() == HINT
            await socket.leave()

    logger, seen = logging.getLogger("accounts.live.consumers"), Seen()
    logger.addHandler(seen)
    level = logger.level
    logger.setLevel(logging.INFO)
    try:
        run(scenario)
    finally:
        logger.removeHandler(seen)
        logger.setLevel(level)
    assert found == idents


def _claims(user) -> dict[str, object]:
    return asdict(tokens.decode_access(actions.sign_in(user).access))


def test_a_type_is_registered_once() -> None:
    with pytest.raises(ValueError, match="kicked"):
        live_hint_types.register("kicked")
