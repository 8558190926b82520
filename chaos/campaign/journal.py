"""The results of all requests: counts, and findings with a request that reproduces each."""

import base64
import contextlib
import json
import re
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path

from chaos.campaign.site.requests import Answer, Form, Json, Raw, Request, Upload
from chaos.campaign.site.sites import Site

SLOW_SECONDS = 2.0
# The assumed maximum CPU cost of one normal request.
USUAL_CPU_SECONDS = 0.05
# Addresses that may answer 503 without Redis (docs/api.md); all others work without it.
NEED_REDIS = ("/api/v1/auth/ws-ticket",)
# The maximum slowdown that a busy machine can excuse.
MOST_BUSY = 5.0
SHRINK_TRIES = 40
SHOWN = 3000
LONG_RUN = re.compile(r"(.{1,12}?)\1{30,}", re.DOTALL)
# No user's text may begin a tag on a page: this one would become an element of the document.
INJECTED = "<zzx"
# CPU seconds of each process of the site, and the number of answered requests.
Before = tuple[dict[int, float], int]
Again = Callable[[Request], Answer]


@dataclass(frozen=True)
class Finding:
    """A violation; findings are counted by `kind`."""

    kind: str
    site: str
    part: str
    what: str
    request: str
    body: bytes = b""


@dataclass
class Journal:
    """The counts of one configuration; safe to use from several threads."""

    site: Site
    say: Callable[[str], None]
    findings: list[Finding] = field(default_factory=list)
    counts: Counter[str] = field(default_factory=Counter)
    parts: Counter[str] = field(default_factory=Counter)
    statuses: Counter[tuple[str, int]] = field(default_factory=Counter)
    refused: Counter[str] = field(default_factory=Counter)
    # Texts that only the given people may see: text -> ids of people.
    secrets: dict[str, set[str]] = field(default_factory=dict)
    _seen: set[tuple[str, str]] = field(default_factory=set)
    _lock: threading.RLock = field(default_factory=threading.RLock)
    _gate: threading.Condition = field(default_factory=threading.Condition)
    _running: int = 0
    _paused: bool = False

    # --- requests -------------------------------------------------------------------------------
    @contextlib.contextmanager
    def turn(self) -> Iterator[Before]:
        """Wait while another thread holds `silence`; yield CPU time and responses so far."""
        with self._gate:
            while self._paused:
                self._gate.wait()
            self._running += 1
        try:
            yield self.site.cpu_seconds(), self.counts["answered"]
        finally:
            with self._gate:
                self._running -= 1
                self._gate.notify_all()

    @contextlib.contextmanager
    def silence(self) -> Iterator[None]:
        """Keep all other threads from sending, and wait until the site answers at once."""
        with self._gate:
            while self._paused:
                self._gate.wait()
            self._paused = True
            while self._running:
                self._gate.wait()
        try:
            self.site.wait_until_calm()
            yield
        finally:
            with self._gate:
                self._paused = False
                self._gate.notify_all()

    def note(self, part: str, request: Request, answer: Answer) -> None:
        """Count one response."""
        with self._lock:
            self.counts["tried"] += 1
            self.counts["answered"] += 1
            self.parts[part] += 1
            self.statuses[part, answer.status] += 1

    def note_write(self, request: Request, answer: Answer) -> None:
        """Count a write of the fuzz, and whether it was accepted."""
        with self._lock:
            self.counts["writes"] += 1
            self.counts["accepted"] += answer.accepted
            if not answer.accepted:
                self.refused[f"{answer.status} {request.method} {pattern(request.path)}"] += 1

    # --- violations in a response
    # -------------------------------------------------------------------
    def judge(self, part: str, request: Request, answer: Answer, again: Again) -> None:
        """Check for a server error, or for a missing response."""
        if 0 < answer.status < 500:
            return
        excused = answer.status == 503 and answer.header("Retry-After")
        if excused and self.site.redis_is_dead and pattern(request.path) in NEED_REDIS:
            with self._lock:
                self.counts["unavailable"] += 1
            return
        if answer.trouble == "timed out":
            return  # counted as slow
        what = f"{answer.status or answer.trouble}"
        if not self.first("5xx", f"{request.method} {pattern(request.path)} {what}"):
            return
        small = self._shrunk(request, again) if answer.status else request
        self.find("5xx", part, f"{what}: {answer.text[:120]!r}", small)

    def judge_time(
        self,
        part: str,
        request: Request,
        answer: Answer,
        before: Before,
        again: Again,
    ) -> None:
        """Distinguish an expensive request from a busy machine.

        It is a finding if it takes as long again while no other thread sends, minus the slowdown of
        a busy machine; or if the site used the CPU all that time and the other requests cannot
        explain it.
        """
        if answer.seconds <= SLOW_SECONDS:
            return
        now = self.site.cpu_seconds()
        computed = sum(now[pid] - seconds for pid, seconds in before[0].items() if pid in now)
        others = (self.counts["answered"] - before[1]) * USUAL_CPU_SECONDS
        with self.silence():
            busy = slowdown()
            repeated = again(request)
            busy = min(MOST_BUSY, (busy + slowdown()) / 2)
            self.site.wait_until_calm()
        alone = repeated.seconds / busy > SLOW_SECONDS
        if not (alone or computed - others > 0.75 * SLOW_SECONDS):
            with self._lock:
                self.counts["slow once"] += 1
            return
        times = f"{answer.seconds:.1f} s, again, alone, {repeated.seconds:.1f} s"
        times += f"; the site computed {computed:.1f} s, the machine was {busy:.1f} times busy"
        if self.first("slow", pattern(request.path)):
            self.find("slow", part, times, request)

    def judge_secrets(self, part: str, request: Request, answer: Answer, asker: str) -> None:
        """Check for texts shown to others, and for text that became an element of a page."""
        said = answer.everything
        for secret, allowed in tuple(self.secrets.items()):
            if secret in said and asker not in allowed and secret not in request.given:
                key = f"{pattern(request.path)} {allowed}"
                if self.first("leak", key):
                    self.find("leak", part, f"shows {secret!r}", request)
        if "html" in answer.header("Content-Type") and INJECTED in said:
            at = said.index(INJECTED)
            if self.first("leak", f"element {pattern(request.path)}"):
                self.find(
                    "leak", part, f"an element of a text: {said[at - 80 : at + 80]!r}", request
                )

    def find(self, kind: str, part: str, what: str, request: Request | None = None) -> None:
        """Store a finding and print it."""
        line = described(request) if request else ""
        body = request.body.render()[0] if request and request.body is not None else b""
        found = Finding(kind, self.site.configuration.title, part, what, line, body)
        with self._lock:
            self.counts[kind] += 1
            self.findings.append(found)
        self.say(f"  {kind} in {part}: {what}\n      {line}")

    def first(self, kind: str, key: str) -> bool:
        """Count something; return True if it is the first of its kind."""
        with self._lock:
            if (kind, key) in self._seen:
                self.counts[kind] += 1
                return False
            self._seen.add((kind, key))
            return True

    # --- a smaller request that shows the same --------------------------------------------------
    def _shrunk(self, request: Request, again: Again) -> Request:
        """Remove parts of a request as long as the server still fails."""
        best, tries = request, 0
        progress = True
        while progress and tries < SHRINK_TRIES:
            progress = False
            for smaller in simpler(best):
                tries += 1
                if again(smaller).status >= 500:
                    best, progress = smaller, True
                    break
                if tries >= SHRINK_TRIES:
                    break
        return best


def slowdown(seconds: float = 0.1) -> float:
    """Return the factor by which work is now slower than on an idle machine."""
    began, computed = time.perf_counter(), time.thread_time()
    while time.thread_time() - computed < seconds:
        pass
    return max(1.0, (time.perf_counter() - began) / seconds)


def simpler(request: Request) -> Iterator[Request]:
    """Yield requests with one part less."""
    if request.body is not None:
        yield request.replace(body=None)
    for number in range(len(request.query)):
        left = request.query[:number] + request.query[number + 1 :]
        yield request.replace(query=left)
    for name in request.headers:
        yield request.replace(headers={k: v for k, v in request.headers.items() if k != name})
    match request.body:
        case Json(value) if isinstance(value, dict):
            for key in value:
                less = {k: v for k, v in value.items() if k != key}
                yield request.replace(body=Json(less))
            for key, text in value.items():
                if isinstance(text, str) and len(text) > 8:
                    yield request.replace(body=Json(value | {key: text[: len(text) // 2]}))
        case Form(fields, multipart):
            for number in range(len(fields)):
                fewer = fields[:number] + fields[number + 1 :]
                yield request.replace(body=Form(fewer, multipart))
        case Raw(data, kind) if len(data) > 8:
            yield request.replace(body=Raw(data[: len(data) // 2], kind))
    head, slash, tail = request.path.rpartition("/")
    if len(tail) > 8:
        yield request.replace(path=f"{head}{slash}{tail[: len(tail) // 2]}")


# --- texts --------------------------------------------------------------------------------------
def pattern(path: str) -> str:
    """Return an address without the parts that identify a person or post."""
    path = re.sub(r"(?<=/)@[^/]+", "@{name}", path.partition("?")[0])
    path = re.sub(r"^/media/../[0-9a-f]{32}", "/media/{name}", path)
    path = re.sub(r"(?<=/)\d{5,}", "{id}", path)
    known = re.sub(r"(?<=by-name/|t/email/|recover/)[^/]+", "{x}", path)
    return known if len(known) < 120 else known[:60] + "…"


def compact(text: str) -> str:
    """Return a text with its long repeats abbreviated."""
    cut = text if len(text) <= 60_000 else text[:60_000] + "…"
    found = LONG_RUN.sub(lambda m: f"«{m[1]}»×{len(m[0]) // len(m[1])}", cut)
    if len(found) > SHOWN:
        found = found[:SHOWN] + "…"
    return found if cut == text else f"{found} ({len(text)} characters in all)"


def described(request: Request) -> str:
    """Return a request as one line."""
    parts = [request.method, compact(request.target), f"as {request.who}"]
    if request.headers:
        parts.append(f"headers {compact(json.dumps(request.headers))}")
    match request.body:
        case Json(value):
            parts.append(f"JSON {compact(json.dumps(value))}")
        case Form(fields, multipart):
            shown = [
                (name, f"file {value.name!r} of {len(value.data)} bytes")
                if isinstance(value, Upload)
                else (name, value)
                for name, value in fields
            ]
            parts.append(f"{'multipart ' if multipart else ''}form {compact(json.dumps(shown))}")
        case Raw(data, kind):
            parts.append(f"{kind} {compact(repr(data))}")
    return "  ".join(parts)


def keep(path: Path, findings: list[Finding]) -> None:
    """Write findings to a file, one a line, with the whole bodies."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("w") as file:
        for one in findings:
            row = {key: value for key, value in vars(one).items() if key != "body"}
            if len(one.body) > SHOWN:
                row["body"] = base64.b64encode(one.body[:1_000_000]).decode()
            file.write(json.dumps(row, ensure_ascii=False) + "\n")
