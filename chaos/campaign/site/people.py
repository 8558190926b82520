"""People of the campaign and their sessions, which they renew as a client program does."""

import base64
import contextlib
import http.cookies
import re
import secrets
import time
from typing import Any

from django_otp.oath import TOTP

from chaos.campaign.site.requests import Answer, Form, Json, Request, Wire
from chaos.campaign.site.sites import HOST, Site, Staff

V1 = "/api/v1/"
BROWSER = "Mozilla/5.0 (Windows NT 10.0; Win64; x64) Chrome/150.0.0.0 Safari/537.36"
CSRF = "c" * 32
BANNED = 3
# The code of a log-in to an account that its person closed.
CLOSING = 33


class Person:
    """Somebody with a session of a program and one of a browser; used by one thread at a time.

    `send` comes from the caller that counts requests; responses to it are checked like all others.
    """

    def __init__(self, site: Site, username: str, role: str = "member") -> None:
        self.site, self.username, self.role = site, username, role
        self.nickname = f"N{username}"[:16]
        self.password = secrets.token_hex(8)
        self.email = ""
        self.id = ""
        self.access = self.refresh = ""
        self.cookies: dict[str, str] = {}
        self.secret, self.recovery = "", list[str]()
        self.last_step = 0
        self.is_banned = False
        self.device = secrets.token_hex(8)
        # The probability weight of this person among others.
        self.weight = 1.0
        # Texts that must never appear to others, nor in a log.
        self.secrets_issued: set[str] = set()
        self.renewed = 0

    @property
    def who(self) -> str:
        """The person's name in findings."""
        return f"{self.role} {self.username}"

    # --- headers
    # ------------------------------------------------------------------------------------
    def bearer(self) -> dict[str, str]:
        """Return the headers of a program."""
        return {"Authorization": f"Bearer {self.access}"} if self.access else {}

    def browser(self, *, csrf: bool = True) -> dict[str, str]:
        """Return the headers of a browser on a page of the site."""
        jar = {**self.cookies}
        if csrf:
            jar.setdefault(self.site.cookie("csrf"), CSRF)
        found = {"User-Agent": BROWSER, "Origin": self.site.origin}
        found["Referer"] = self.site.origin + "/"
        if csrf:
            found["X-CSRFToken"] = jar[self.site.cookie("csrf")]
        if jar:
            found["Cookie"] = "; ".join(f"{name}={value}" for name, value in jar.items())
        return found

    def headers(self, request: Request) -> dict[str, str]:
        """Return the headers of this person's request, depending on its address."""
        return self.bearer() if request.path.startswith("/api/") else self.browser()

    def keep_cookies(self, answer: Answer) -> None:
        """Process Set-Cookie as a browser does."""
        for line in answer.headers.get_all("Set-Cookie", []):
            with contextlib.suppress(http.cookies.CookieError):
                for name, morsel in http.cookies.SimpleCookie(line).items():
                    if morsel["max-age"] == "0" or not morsel.value:
                        self.cookies.pop(name, None)
                    else:
                        self.cookies[name] = morsel.value

    # --- signing in -----------------------------------------------------------------------------
    def sign_up(self, wire: Wire) -> None:
        """Create the account; raises RuntimeError if the site refuses."""
        data = {"username": self.username, "nickname": self.nickname, "password": self.password}
        answer = self._api(wire, "POST", "auth/register", data | self._client("android"))
        if answer.status != 201:
            raise RuntimeError(f"sign-up of {self.username}: {answer.status} {answer.text[:300]}")
        self.id = answer.json()["user"]["id"]
        self._take(answer.json())
        if not self._sign_in(wire, "chrome"):
            raise RuntimeError(f"{self.username} cannot sign in")

    def sign_in(self, wire: Wire) -> bool:
        """Sign in as a program and as a browser; return False if the site refuses."""
        return self._sign_in(wire, "android", "chrome")

    def _sign_in(self, wire: Wire, *clients: str) -> bool:
        for client in clients:
            answer = self._log_in(wire, client)
            self.is_banned = (answer.json() or {}).get("code") == BANNED
            if answer.status != 200:
                return False
            pair = answer.json()
            if client == "android":
                self._take(pair)
            else:
                self.cookies |= {self.site.cookie(n): pair[n] for n in ("access", "refresh")}
                self.secrets_issued.add(pair["refresh"])
        self.renewed += 1
        return True

    def _log_in(self, wire: Wire, client: str) -> Answer:
        data = {"username": self.username, "password": self.password, **self._client(client)}
        answer = self._api(wire, "POST", "auth/login", data)
        if answer.status == 401 and (answer.json() or {}).get("code") == 25:
            answer = self._api(wire, "POST", "auth/login", data | {"otp": self.code()})
        if (answer.json() or {}).get("code") == CLOSING:
            otp = {"otp": self.code()} if self.secret else {}
            answer = self._api(wire, "POST", "auth/reopen", data | otp)
        return answer

    def _client(self, client: str) -> dict[str, str]:
        return {"client": client, "device": f"{self.device}-{client}"}

    def renew(self, wire: Wire, *, browser: bool = False) -> bool:
        """Renew the program's session by its refresh token, or both sessions by the password."""
        if self.is_banned:
            return False
        if browser or not self.refresh:
            return self.sign_in(wire)
        answer = self._api(wire, "POST", "auth/refresh", {"refresh": self.refresh})
        if answer.status == 200:
            self._take(answer.json())
            self.renewed += 1
            return True
        return self.sign_in(wire)

    def _take(self, pair: dict[str, Any]) -> None:
        self.access, self.refresh = pair["access"], pair["refresh"]
        self.secrets_issued |= {self.access, self.refresh, self.password}

    # --- two-factor authentication
    # ------------------------------------------------------------------
    def enrol(self, wire: Wire) -> None:
        """Set up two-factor authentication; raises RuntimeError on failure."""
        answer = self.call(wire, "POST", "auth/totp", {"password": self.password})
        self.secret = (answer.json() or {}).get("secret", "")
        answer = self.call(wire, "POST", "auth/totp/confirm", {"otp": self.code()})
        if answer.status != 200:
            raise RuntimeError(f"second factor of {self.username}: {answer.text[:300]}")
        self.recovery = answer.json()["recovery_codes"]

    def code(self) -> str:
        """Return a valid code: of this half minute, of the next one, or a recovery code."""
        if not self.secret:
            return "123456"
        step = int(time.time()) // 30
        for one in (step, step + 1):
            if one > self.last_step:
                self.last_step = one
                return f"{_two_factor_code(self.secret, one):06d}"
        return self.recovery.pop() if self.recovery else "000000"

    def learn(self, path: str, method: str, sent: dict[str, Any], found: dict[str, Any]) -> None:
        """Store changes that an accepted request made to this person's sessions."""
        match method, path:
            case "POST", "auth/password":
                self.password = str(sent.get("new_password"))
                self._take(found)
            case "POST", "auth/refresh" if sent.get("refresh") == self.refresh:
                self._take(found)
            case "POST", "auth/recover/confirm":
                self.password = str(sent.get("new_password"))
            case "POST", "auth/email":
                self.email = str(sent.get("email", ""))
            case "POST", "auth/totp":
                self.secret = found.get("secret", self.secret)
                self.last_step = 0
            case "POST", "auth/totp/confirm" | "auth/totp/recovery-codes":
                self.recovery = found.get("recovery_codes", [])
            case "DELETE", "auth/totp":
                self.secret, self.recovery = "", []

    # --- calls ----------------------------------------------------------------------------------
    def _api(self, wire: Wire, method: str, path: str, data: Any = None) -> Answer:
        body = None if data is None else Json(data)
        headers = {"User-Agent": "attack/1 (Linux)"}
        return wire.send(Request(method, V1 + path, body=body, who=self.who), headers)

    def call(self, wire: Wire, method: str, path: str, data: Any = None, **headers: str) -> Answer:
        """Call the API as this person, uncounted: used to build the world."""
        body = None if data is None else Json(data)
        request = Request(method, V1 + path, body=body, headers=headers, who=self.who)
        answer = wire.send(request, self.bearer())
        if answer.status == 401 and self.renew(wire):
            answer = wire.send(request, self.bearer())
        return answer

    def must(self, wire: Wire, method: str, path: str, data: Any = None, **headers: str) -> Any:
        """Call the API; raises RuntimeError unless it succeeds."""
        answer = self.call(wire, method, path, data, **headers)
        if not answer.accepted:
            said = f"{answer.status} {answer.text[:300]} {answer.trouble}"
            raise RuntimeError(f"{self.who}: {method} {path} {data}: {said}")
        return answer.json()

    def page(self, wire: Wire, method: str, path: str, *fields: tuple[str, str]) -> Answer:
        """Request a page as this person, uncounted."""
        body = Form(fields) if method == "POST" else None
        request = Request(method, path, body=body, who=self.who)
        answer = wire.send(request, self.browser())
        self.keep_cookies(answer)
        return answer


class Guest(Person):
    """A guest: no account, but a separate browser."""

    def __init__(self, site: Site) -> None:
        super().__init__(site, "guest", "guest")

    def renew(self, wire: Wire, *, browser: bool = False) -> bool:
        """Do nothing: a guest has no session."""
        return False


def _two_factor_code(secret: str, step: int) -> int:
    key = base64.b32decode(secret + "=" * (-len(secret) % 8))
    code = TOTP(key, step=30)
    code.time = step * 30
    return int(code.token())


def wire_to(site: Site) -> Wire:
    """Return a connection of the calling thread."""
    return Wire(HOST, site.port, site.configuration.headers)


def staff_named(names: dict[str, str]) -> list[Staff]:
    """Return staff to create before the site starts, by name and role."""
    return [Staff(name, secrets.token_hex(8), role) for name, role in names.items()]


def make_people(site: Site, wire: Wire, *names: str) -> dict[str, Person]:
    """Sign people up and in; staff exist already and set up two-factor authentication."""
    staff = {one.username: one for one in site.staff}
    found = {}
    for name in names:
        if name in site.people:
            found[name] = site.people[name]
            continue
        person = found[name] = site.people[name] = Person(site, name)
        if name not in staff:
            person.sign_up(wire)
        else:
            person.role, person.password = staff[name].role, staff[name].password
            if not person.sign_in(wire):
                raise RuntimeError(f"{name} cannot sign in")
            person.id = person.must(wire, "GET", "users/me")["id"]
            if site.configuration.needs_two_factor:
                person.enrol(wire)
                if not person.sign_in(wire):
                    raise RuntimeError(f"{name} cannot sign in with a code")
    return found


LINK = re.compile(r"/(recover|email)[/#?](?:token=)?([\w:.\-]+)")


def links(site: Site, address: str) -> dict[str, list[str]]:
    """Return the tokens of links in the e-mails to an address, by purpose."""
    found: dict[str, list[str]] = {"recover": [], "email": []}
    for mail in site.mails():
        if f"To: {address}" in mail:
            for kind, token in LINK.findall(mail.replace("=\n", "").replace("=3D", "=")):
                found[kind].append(token)
    return found
