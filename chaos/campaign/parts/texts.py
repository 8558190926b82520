"""Texts of every script, compared after writing; and texts that may slow parsers down."""

import html

from chaos.campaign.client import Client
from chaos.campaign.fuzz.hostile_values import PROBES, Dice, articles, assigned, costly
from chaos.campaign.journal import INJECTED, Journal
from chaos.campaign.site.people import V1, Person, make_people
from chaos.campaign.site.requests import Json, Request
from chaos.campaign.site.sites import Site
from socialsite.core.text import clean

PART = "texts"
AUTHORS = 4
POST_MAX, LONGEST = 2000, 50_000
PAGE = 20
# Longer than any fence in the texts.
FENCE = "`" * 30


class Scripts:
    """Authors who write all texts, and a guest who reads them."""

    def __init__(self, site: Site, journal: Journal, seed: int, share: float) -> None:
        self.site, self.journal, self.share = site, journal, share
        self.dice = Dice(f"{seed} {PART}")
        self.client = Client(site, journal, PART)
        made = make_people(site, self.client.wire, *(f"writer{n:02}" for n in range(AUTHORS)))
        self.people = [*made.values()]
        self.turn = 0

    def run(self) -> None:
        """Write and read all texts; the whole of Unicode always, a share of the rest."""
        for lines in articles(assigned()):
            self._read_back(lines)
        for probe in PROBES:
            self._probe(probe)
        for text in costly(LONGEST):
            if self.dice.random() < self.share:
                self._time({"kind": "article", "title": "t", "content": text})
        waiting = [text for text in costly(POST_MAX) if self.dice.random() < self.share]
        for number in range(0, len(waiting), PAGE):
            self._time_page(waiting[number : number + PAGE])

    def author(self) -> Person:
        """Return the authors in turn."""
        self.turn += 1
        return self.people[self.turn % len(self.people)]

    def _write(self, person: Person, path: str, data: object, method: str = "POST") -> str:
        request = Request(method, V1 + path, body=Json(data))
        answer = self.client.send(request, person)
        return str((answer.json() or {}).get("id", "")) if answer.accepted else ""

    def _read_back(self, lines: list[str]) -> None:
        """Write one article, and compare it with the API's response and the page.

        Its lines are code, since signs of Markdown are not shown.
        """
        person, text = self.author(), "\n".join((FENCE, *lines, FENCE))
        data = {"kind": "article", "title": "every script", "content": text}
        ident = self._write(person, "posts", data)
        request = Request("GET", f"{V1}posts/{ident}")
        if not ident:
            self.journal.find("control", PART, f"an article was not taken: {text[:60]!r}")
            return
        shown = (self.client.send(request).json() or {}).get("content")
        if shown != clean(text):
            self.journal.find("leak", PART, "a text is not read back as it was written", request)
        request = Request("GET", f"/posts/{ident}")
        page = html.unescape(self.client.send(request).text)
        lacks = [line for line in clean(text).split("\n")[1:-1] if line.strip() not in page]
        if lacks:
            what = f"lines are not on the page as they were written: {lacks[0]!r}"
            self.journal.find("leak", PART, what, request)

    def _probe(self, probe: str) -> None:
        """Write a text in every field for people's texts, and read the pages that show it."""
        person, other = self.author(), self.people[0]
        post = self._write(person, "posts", {"content": probe})
        self._write(person, "posts", {"kind": "article", "title": probe[:100], "content": probe})
        self._write(person, "users/me", {"bio": probe[:200]}, "PATCH")
        pages = [f"/@{person.username}", "/recommended", "/"]
        if post:
            self._write(other, f"posts/{post}/comments", {"content": probe[:900]})
            self._write(other, f"posts/{post}/repost", {"content": probe[:900]})
            pages.append(f"/posts/{post}")
        if probe.isprintable():
            pages += [f"/search?q={probe}", f"/login?next={probe}", f"/@{probe[:100]}"]
        for page in pages:
            path, _, query = page.partition("?")
            name, _, text = query.partition("=")
            asked = ((name, text),) if query else ()
            answer = self.client.send(Request("GET", path, asked), other)
            if INJECTED in answer.text and "html" in answer.header("Content-Type"):
                continue  # the journal has the error
            if "\r" in probe and answer.header("X-Injected"):
                self.journal.find("leak", PART, "a header came out of a text")

    def _time(self, data: dict[str, str]) -> None:
        """Write one long text, and read its page."""
        ident = self._write(self.author(), "posts", data)
        if ident:
            self.client.send(Request("GET", f"/posts/{ident}"))

    def _time_page(self, texts: list[str]) -> None:
        """Write a page full of texts, and read that page."""
        person = self.author()
        for text in texts:
            self._write(person, "posts", {"content": text})
        self.client.send(Request("GET", f"/@{person.username}"))
        self.client.send(Request("GET", "/"), person)
