"""What sockets count: how long a revocation takes to reach them, and why they ended."""

import pytest

from accounts import actions, live_hints
from accounts.live import consumers
from accounts.tests.live.talk import Socket, in_thread, run
from socialsite.core.telemetry.instruments import REVOCATIONS, SOCKETS_CLOSED, SOCKETS_OPEN

pytestmark = pytest.mark.django_db(transaction=True)


def numbers() -> dict[str, float]:
    """Return the revocations found in both ways, kicked sockets and open ones."""
    found = {
        f"{one.name} {one.labels.get('found_by') or one.labels.get('reason')}": one.value
        for instrument in (REVOCATIONS, SOCKETS_CLOSED, SOCKETS_OPEN)
        for metric in instrument.collect()
        for one in metric.samples
    }
    delay = "socialsite_revocation_delay_seconds_count"
    return {
        "message": found.get(f"{delay} message", 0),
        "check": found.get(f"{delay} check", 0),
        "kicked": found.get("socialsite_sockets_closed_total kicked", 0),
        "open": found["socialsite_sockets_open None"],
    }


@pytest.mark.parametrize("found_by", ["message", "check"])
def test_the_delay_of_a_revocation_is_measured_once(found_by, make_user, monkeypatch) -> None:
    user = make_user()
    pair = actions.sign_in(user, "chrome")
    if found_by == "check":
        monkeypatch.setattr(consumers, "RECHECK_SECONDS", 0.1)
        monkeypatch.setattr(live_hints, "_send", lambda user_ids, event: None)
    before = numbers()

    async def scenario() -> None:
        socket = Socket.by_cookie(pair.access)
        assert await socket.open()
        assert numbers()["open"] == before["open"] + 1
        await in_thread(actions.kick, user, "chrome")
        await socket.receive()
        assert (await socket.code())[0] == 4001
        await socket.leave()

    run(scenario)
    expected = before | {found_by: before[found_by] + 1, "kicked": before["kicked"] + 1}
    assert numbers() == expected
