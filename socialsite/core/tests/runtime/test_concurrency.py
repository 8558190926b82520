"""The number of requests that a process works on at once, and the waiting of the others."""

import asyncio
import threading
from collections import Counter
from typing import Any

import pytest

from socialsite.core.errors import AppError
from socialsite.core.runtime import concurrency
from socialsite.core.runtime.concurrency import Places, Turns
from socialsite.tests.support.waiting import LIMIT, eventually

pytestmark = pytest.mark.once


def test_the_number_of_requests_at_once_is_bounded_and_slow_clients_use_no_turn() -> None:
    inside, most, answered = [0], [0], [0]

    async def application(scope: Any, receive: Any, send: Any) -> None:
        while (await receive())["more_body"]:
            pass
        inside[0] += 1
        most[0] = max(most[0], inside[0])
        for _ in range(20):  # the others have a chance to come in
            await asyncio.sleep(0)
        inside[0] -= 1
        if scope["fails"]:
            raise ValueError
        await send({"type": "http.response.start", "status": 200})
        if scope["slow to read"]:
            await asyncio.Event().wait()

    async def send(message: Any) -> None:
        answered[0] += 1

    def parts(*bodies: Any) -> Any:
        left = list(bodies)

        async def receive() -> dict[str, Any]:
            if not left:
                await asyncio.Event().wait()
            return {"type": "http.request", "body": left.pop(0), "more_body": len(left) > 0}

        return receive

    async def slow_to_send() -> dict[str, Any]:
        await asyncio.Event().wait()
        raise AssertionError

    async def main() -> None:
        turns = Turns(application, 2, Places(0))

        def ask(receive: Any, **scope: bool) -> asyncio.Task[None]:
            kinds = {"fails": False, "slow to read": False} | scope
            return asyncio.create_task(turns(kinds, receive, send))

        slow = [ask(slow_to_send) for _ in range(5)]
        slow += [ask(parts(b""), **{"slow to read": True}) for _ in range(5)]
        quick = [ask(parts(b"a", b"b"), fails=number % 2 == 0) for number in range(20)]
        found = await asyncio.wait_for(asyncio.gather(*quick, return_exceptions=True), LIMIT)
        assert [type(one) for one in found] == [ValueError, type(None)] * 10
        for task in slow:
            task.cancel()

    asyncio.run(main())
    assert (most[0], answered[0]) == (2, 15)


def take(places: Places, kind: str, owner: str = "") -> str:
    """Take a place; return the name of the error, if any."""
    try:
        places.take(kind, owner)
    except AppError as error:
        return error.name if error.retry_after else "no word on when"
    return ""


def test_places_are_shared_between_kinds_and_owners() -> None:
    places, share, none = Places(8), "RATE_LIMITED", "UNAVAILABLE"
    assert [take(places, concurrency.UPLOAD, "ann") for _ in range(4)] == [""] * 3 + [share]
    assert [take(places, concurrency.UPLOAD, "bob") for _ in range(2)] == ["", none]
    assert [take(places, concurrency.PASSWORD) for _ in range(5)] == [""] * 4 + [none]
    places.release(concurrency.UPLOAD, "ann")
    assert [take(places, concurrency.UPLOAD, "ann") for _ in range(2)] == ["", share]


def test_no_address_has_all_places() -> None:
    places = Places(concurrency.SLOW_ASGI)
    found = [take(places, concurrency.PASSWORD, "one") for _ in range(100)]
    assert found.count("") == concurrency.SLOW_ASGI - 2
    assert take(places, concurrency.PASSWORD, "other") == ""


def test_waiting_requests_queue_and_no_address_fills_the_queue(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(concurrency, "WAIT_SECONDS", LIMIT)
    places, done = Places(8, line=8), list[str]()

    def work(owner: str) -> None:
        done.append(take(places, concurrency.PASSWORD, owner))

    for _ in range(7):
        work("one")
    crowd = [threading.Thread(target=work, args=("one",)) for _ in range(20)]
    for thread in crowd:
        thread.start()
    # Seven have places, seven wait, the others were refused.
    eventually(lambda: len(done), lambda count: count == 20)
    assert Counter(done) == {"": 7, "RATE_LIMITED": 13}
    assert take(places, concurrency.PASSWORD, "other") == ""
    places.release(concurrency.PASSWORD, "other")
    for _ in range(7):
        places.release(concurrency.PASSWORD, "one")
    for thread in crowd:
        thread.join(LIMIT)
    assert Counter(done) == {"": 14, "RATE_LIMITED": 13}
    assert not places._waiting


def test_waiting_too_long_for_a_place_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(concurrency, "WAIT_SECONDS", 0.05)
    places = Places(1, line=1)
    assert [take(places, concurrency.PASSWORD) for _ in range(2)] == ["", "UNAVAILABLE"]
    assert not places._waiting


def test_work_within_slow_work_takes_no_second_place() -> None:
    places = Places(1)
    with concurrency.within(places, lambda: None):
        for _ in range(2):
            with (
                concurrency.slow(concurrency.PASSWORD, "one"),
                concurrency.slow(concurrency.PASSWORD),
            ):
                pass
            with pytest.raises(ValueError, match="any"), concurrency.slow(concurrency.UPLOAD):
                raise ValueError("any")
        with concurrency.slow(concurrency.PASSWORD):
            assert take(places, concurrency.PASSWORD) == "UNAVAILABLE"


def test_requests_that_write_leave_half_of_the_turns_to_reads() -> None:
    async def main() -> None:
        inside: list[str] = []

        async def application(scope: Any, receive: Any, send: Any) -> None:
            await receive()
            inside.append(scope["method"])
            await (asyncio.sleep(0) if scope["method"] == "GET" else asyncio.Event().wait())

        async def receive() -> Any:
            return {"type": "http.request", "body": b"", "more_body": False}

        async def send(message: Any) -> None:
            """Nothing is answered."""

        def ask(method: str) -> asyncio.Task[None]:
            return asyncio.create_task(served({"method": method}, receive, send))

        served = Turns(application, 4, Places(0))
        writes = [ask("POST") for _ in range(20)]
        await asyncio.wait_for(asyncio.gather(*[ask("GET") for _ in range(20)]), LIMIT)
        assert inside.count("POST") == 2
        # A request that gives up while waiting leaves no turn behind.
        for task in writes:
            task.cancel()
        await asyncio.wait(writes)
        again = [ask("POST") for _ in range(20)]
        await asyncio.wait_for(asyncio.gather(*[ask("GET") for _ in range(20)]), LIMIT)
        assert inside.count("POST") == 4
        for task in again:
            task.cancel()

    asyncio.run(main())
