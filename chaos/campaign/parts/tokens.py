"""Forged tokens, wherever a token is accepted: each must be refused without a server error."""

from collections.abc import Callable

from websockets.exceptions import ConnectionClosed, InvalidStatus
from websockets.sync.client import connect

from accounts.tests.tokens.forgery import Forger, Forgery
from chaos.campaign.client import Client
from chaos.campaign.journal import Journal
from chaos.campaign.site.people import V1, make_people
from chaos.campaign.site.requests import Json, Request
from chaos.campaign.site.sites import HOST, Site

PART = "tokens"
REFUSED = (4001, 4002)
SOCKETS_SHARE = 5  # one of this many forgeries also tries a socket: each needs a connection


class Tokens:
    """Forgeries of the tokens of two signed-in people."""

    def __init__(self, site: Site, journal: Journal, seed: int, count: int) -> None:
        self.site, self.journal = site, journal
        self.client = Client(site, journal, PART)
        wire = self.client.wire
        self.people = [*make_people(site, wire, "forged01", "forged02").values()]
        pairs = [(person.access, person.refresh) for person in self.people]
        kinds = {"access": [p[0] for p in pairs], "refresh": [p[1] for p in pairs]}
        self.forged = {
            kind: Forger(kinds[kind], kinds[other], f"{seed} {kind}").make(count)
            for kind, other in (("access", "refresh"), ("refresh", "access"))
        }

    def run(self) -> None:
        """Check that the live tokens are accepted, and that no forgery is."""
        ways = self.ways()
        for person in self.people:
            for way, send in ways.items():
                if not send(person.access):
                    self.journal.find("control", PART, f"a live token is not taken: {way}")
        for number, (access, refresh) in enumerate(
            zip(self.forged["access"], self.forged["refresh"], strict=True)
        ):
            for way, send in ways.items():
                if way == "socket" and number % SOCKETS_SHARE:
                    continue
                if way in ("cookie", "admin") and not access.plain:
                    continue
                if send(access.token):
                    self.taken(way, access)
            if self.refresh(refresh.token):
                self.taken("refresh", refresh)

    def taken(self, way: str, forged: Forgery) -> None:
        """Report an accepted forgery."""
        what = f"a forged token is taken: {forged.family}, {way}: {forged.token[:200]}"
        if self.journal.first("leak", f"{way} {forged.family}"):
            self.journal.find("leak", PART, what)

    # --- ways to send a token; each returns whether it was accepted
    # ---------------------------------
    def ways(self) -> dict[str, Callable[[str], bool]]:
        """Return the ways to send a token."""
        return {
            "bearer": self.bearer,
            "cookie": self.cookie,
            "admin": self.admin,
            "socket": self.socket,
        }

    def bearer(self, token: str) -> bool:
        """Call the API with a header."""
        headers = {"Authorization": f"Bearer {token}"}
        if not _is_header(token):
            return False
        answer = self.client.send(Request("GET", V1 + "users/me", headers=headers))
        return answer.status == 200

    def cookie(self, token: str) -> bool:
        """Request a page with a cookie."""
        headers = {"Cookie": f"{self.site.cookie('access')}={token}"}
        return self.client.send(Request("GET", "/settings/blocked", headers=headers)).status == 200

    def admin(self, token: str) -> bool:
        """Request the admin; a live token of a member leads to the page that refuses access."""
        headers = {"Cookie": f"{self.site.cookie('access')}={token}"}
        answer = self.client.send(Request("GET", "/admin/login/", headers=headers))
        return answer.status == 403

    def refresh(self, token: str) -> bool:
        """Request a new pair of tokens."""
        request = Request("POST", f"{V1}auth/refresh", body=Json({"refresh": token}))
        answer = self.client.send(request)
        return answer.accepted

    def socket(self, token: str) -> bool:
        """Open a socket with a header; a socket that stays open accepted the token."""
        if not _is_header(token):
            return False
        self.journal.counts["tried"] += 1
        url = f"ws://{HOST}:{self.site.port}/ws/session/"
        headers = {"Authorization": f"Bearer {token}"}
        try:
            with connect(url, additional_headers=headers, open_timeout=10, proxy=None) as socket:
                socket.recv(timeout=1.0)
                socket.recv(timeout=1.0)
        except TimeoutError:
            return True
        except ConnectionClosed as closed:
            code = closed.rcvd.code if closed.rcvd else 0
            if code not in REFUSED:
                self.journal.find("5xx", PART, f"a socket closed with {code}: {token[:200]}")
            return False
        except (InvalidStatus, OSError):
            return False
        return True


def _is_header(token: str) -> bool:
    """Return True if a client library can send this as a header."""
    return token.isascii() and token.isprintable() and len(token) < 8000


__all__ = ["PART", "Tokens"]
