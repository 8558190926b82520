"""Uses pages as people do: follows links, fills in and sends forms, with one odd value each.

A thread keeps the links and forms of the pages that it saw, by person. Forms have their own CSRF
token and hidden fields. htmx attributes count as links, and buttons that send a form of the page to
their own address count as forms.
"""

from collections import deque
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import parse_qsl, urljoin, urlsplit

from lxml import etree, html

from chaos.campaign.client import Client
from chaos.campaign.fuzz.hostile_values import BAD_CURSORS, Dice
from chaos.campaign.fuzz.valid_values import FIELDS, Values
from chaos.campaign.site.people import Person
from chaos.campaign.site.requests import Answer, Form, Query, Request, Upload

WRITES, HOSTILE = 0.6, 0.5
STARTS = (
    *("/", "/recommended", "/notifications", "/bookmarks", "/search?q=a", "/settings/profile"),
    *("/settings/email", "/settings/password", "/settings/devices", "/settings/two-factor"),
    *("/settings/notifications", "/settings/blocked", "/@{name}", "/@{name}/followers"),
    *("/@{name}/following", "/@{name}/block", "/posts/{post}", "/posts/{post}/likes"),
    *("/posts/{post}/repost", "/report/post/{post}", "/comments/{comment}/reply"),
    *(
        "/comments/{comment}/replies",
        "/comments/{comment}/likes",
        "/login",
        "/register",
        "/recover",
    ),
)
STAFF_STARTS = (
    *("/admin/", "/admin/accounts/user/", "/admin/feeds/post/", "/admin/interactions/case/"),
    *("/admin/core/event/", "/admin/interactions/comment/", "/admin/feeds/recommendedauthor/"),
    *("/admin/feeds/recommendedauthor/add/", "/admin/feeds/post/explain/", "/admin/feeds/fanout/"),
    *("/admin/relations/relationship/", "/admin/accounts/auditentry/", "/admin/autocomplete/"),
)
# Possible query parameters of Django's admin and of the site's pages.
PARAMETERS = (
    *("_to_field", "_popup", "_changelist_filters", "o", "p", "q", "all", "e", "next", "cursor"),
    *("size", "sort", "reply", "page", "lang", "term", "app_label", "model_name", "field_name"),
    *("viewer", "post", "id__exact", "author__id__exact", "banned_at__isnull", "state", "ot"),
)
KEPT = 150
# Signs the person out, or leaves the site; rarely requested.
AWAY = (
    "/logout",
    "/settings/devices",
    "/settings/two-factor",
    "/settings/password",
    "/settings/close",
)


@dataclass(frozen=True)
class PageForm:
    """A form of a page, with its default values."""

    method: str
    path: str
    fields: tuple[tuple[str, str], ...]
    files: tuple[str, ...] = ()
    choices: dict[str, tuple[str, ...]] = field(default_factory=dict)
    multipart: bool = False
    htmx: bool = False


@dataclass
class Seen:
    """The links and forms that one person saw on pages."""

    links: "deque[str]" = field(default_factory=lambda: deque(maxlen=KEPT))
    forms: "deque[PageForm]" = field(default_factory=lambda: deque(maxlen=KEPT))


class FormFuzz:
    """The page fuzz of one thread."""

    def __init__(
        self, client: Client, people: list[Person], values: Values, protected: set[str]
    ) -> None:
        self.client, self.people, self.values = client, people, values
        self.dice: Dice = values.dice
        self.protected = protected
        self.seen: dict[str, Seen] = {person.username: Seen() for person in people}

    def step(self) -> None:
        """Send a form or follow a link as somebody."""
        person = self.dice.choices(self.people, [p.weight for p in self.people])[0]
        seen = self.seen[person.username]
        if seen.forms and self.dice.random() < WRITES:
            form = self.dice.choice(seen.forms)
            if self._is_drastic(form) and self.dice.random() < 0.9:
                form = self.dice.choice(seen.forms)
            request = self._filled(form, person)
        else:
            request = self._link(person, seen)
        answer = self.client.send(request, person)
        if request.writes:
            self.client.journal.note_write(request, answer)
            self._keep_secrets(request, answer, person)
        self._look_at(answer, request, seen)

    def _is_drastic(self, form: PageForm) -> bool:
        """Return True for requests that end a session, and for staff acts on the fuzz's people."""
        admin = form.path.startswith("/admin/")
        return form.path.startswith(AWAY) or (
            admin and any(ident in form.path for ident in self.protected)
        )

    # --- reading pages --------------------------------------------------------------------------
    def _look_at(self, answer: Answer, request: Request, seen: Seen) -> None:
        if answer.header("Location"):
            seen.links.append(_local(urljoin(request.path, answer.header("Location"))))
        if "html" not in answer.header("Content-Type") or not answer.text.strip():
            return
        try:
            page = html.fromstring(answer.text)
        except (etree.ParserError, ValueError):
            return
        for link in page.xpath("//a/@href | //img/@src | //@hx-get | //link/@href"):
            if _is_ours(str(link)):
                seen.links.append(_local(urljoin(request.path, str(link))))
        buttons = page.xpath("//button[@formaction]")
        shared = {button.get("form") for button in buttons}
        for form in page.forms:
            if _is_ours(form.action or "") and form.get("id") not in shared - {None}:
                seen.forms.append(_page_form(form, request.path))
        seen.forms.extend(_button_form(button, page, request.path) for button in buttons)

    # --- links ----------------------------------------------------------------------------------
    def _link(self, person: Person, seen: Seen) -> Request:
        staff = person.role in ("moderator", "admin")
        known = self.values.known
        if seen.links and self.dice.random() < 0.6:
            link = self.dice.choice(seen.links)
        else:
            starts = (*STARTS, *STAFF_STARTS * 2) if staff else STARTS
            link = self.dice.choice(starts).format(
                name=self.values.one_of(known.names, "nobody"),
                post=self.values.one_of(known.posts),
                comment=self.values.one_of(known.comments),
            )
        parts = urlsplit(link)
        query: Query = tuple(parse_qsl(parts.query, keep_blank_values=True))
        request = Request("GET", parts.path or "/", query)
        if self.dice.random() < 0.2:
            request = request.replace(headers={"HX-Request": "true"})
        if self.dice.random() < HOSTILE:
            return self._odd_link(request)
        return request

    def _odd_link(self, request: Request) -> Request:
        dice = self.dice
        kind = dice.random()
        if kind < 0.55:
            names = [*(name for name, _ in request.query), *PARAMETERS]
            odd = dice.choice([*BAD_CURSORS, dice.bad_id(), dice.hostile_text(200), "1"])
            pair = (dice.choice(names), odd)
            return request.replace(query=(*(p for p in request.query if p[0] != pair[0]), pair))
        if kind < 0.8:
            parts = request.path.split("/")
            parts[dice.randrange(len(parts))] = dice.bad_id()
            return request.replace(path="/" + "/".join(parts).lstrip("/"))
        if kind < 0.9:
            return request.replace(method=dice.choice(("HEAD", "OPTIONS", "GET")))
        name, text = dice.odd_header()
        return request.replace(headers=request.headers | {name: text})

    # --- forms ----------------------------------------------------------------------------------
    def _filled(self, form: PageForm, person: Person) -> Request:
        fields: list[tuple[str, Any]] = []
        for name, old in form.fields:
            fields.append((name, self._field(form, name, old, person)))
        fields += [(name, self.values.picture()) for name in form.files if self.dice.random() < 0.5]
        headers = {"HX-Request": "true"} if form.htmx else {}
        request = Request(form.method, form.path, headers=headers)
        if form.method == "GET":
            query = tuple((name, str(text)) for name, text in fields if isinstance(text, str))
            return self._odd_link(request.replace(query=query))
        if fields and self.dice.random() < HOSTILE:
            fields = self._odd_fields(fields)
        return request.replace(body=Form(tuple(fields), form.multipart))

    def _field(self, form: PageForm, name: str, old: str, person: Person) -> Any:
        choices = form.choices.get(name)
        if name == "csrfmiddlewaretoken":
            # The token in the page may be from before the person's last sign-in.
            return person.cookies.get(person.site.cookie("csrf"), old)
        if name == "select_across":
            return "0"  # otherwise staff would ban everybody at once
        if choices and self.dice.random() < 0.5:
            return self.dice.choice(choices)
        if choices or name not in FIELDS or self.dice.random() < 0.2:
            if name in ("_selected_action", "author") and old in self.protected:
                return self.values.user()
            return old
        made = FIELDS[name](self.values, form.path, person)
        return str(made) if made is not None else ""

    def _odd_fields(self, fields: list[tuple[str, Any]]) -> list[tuple[str, Any]]:
        dice = self.dice
        place = dice.randrange(len(fields))
        name = fields[place][0]
        if name == "csrfmiddlewaretoken" and dice.random() < 0.8:
            name, place = fields[-1][0], len(fields) - 1
        kind = dice.random()
        if kind < 0.1:
            return fields[:place] + fields[place + 1 :]
        if kind < 0.2:
            return [*fields, (name, dice.hostile_text())]
        if kind < 0.3:
            return [*fields, (dice.hostile_text(40), dice.hostile_text())]
        odd: Any = dice.hostile_text() if kind < 0.8 else dice.bad_id()
        if kind > 0.95:
            odd = Upload(dice.hostile_text(60).replace("\n", " "), b"x" * 50)
        return [*fields[:place], (name, odd), *fields[place + 1 :]]

    def _keep_secrets(self, request: Request, answer: Answer, person: Person) -> None:
        """Store a password that was changed by a form."""
        body = request.body
        if answer.accepted and answer.status >= 300 and isinstance(body, Form):
            sent = {name: value for name, value in body.fields if isinstance(value, str)}
            if request.path == "/settings/password" and "new_password" in sent:
                person.password = sent["new_password"]


def _page_form(form: Any, path: str) -> PageForm:
    """Read a form of a page."""
    files = tuple(one.name for one in form.xpath(".//input[@type='file']") if one.name)
    choices: dict[str, list[str]] = {}
    for one in form.xpath(".//input[@type='radio' or @type='checkbox'] | .//button[@name]"):
        if one.get("name"):
            choices.setdefault(one.get("name"), []).append(one.get("value", "on"))
    for one in form.xpath(".//select[@name]"):
        values = [option.get("value", "") for option in one.xpath(".//option")]
        choices.setdefault(one.get("name"), []).extend(values)
    fields = [(name, value or "") for name, value in form.form_values() if name not in files]
    empty = {name for name in form.fields if name and name not in files}
    fields += [(name, "") for name in sorted(empty - {name for name, _ in fields})]
    names = {name for name, _ in fields}
    fields += [(name, found[0]) for name, found in choices.items() if name not in names]
    htmx = form.get("hx-post") is not None
    return PageForm(
        "POST" if htmx else (form.method or "GET").upper(),
        _local(urljoin(path, form.action or path)),
        tuple(fields),
        files,
        {name: tuple(found) for name, found in choices.items() if found},
        "multipart" in (form.get("enctype") or ""),
        htmx,
    )


def _button_form(button: Any, page: Any, path: str) -> PageForm:
    """Read a button that sends a form of the page to its own address.

    A part of a page has the button alone; the form's only necessary field is the token.
    """
    form = next((form for form in page.forms if form.get("id") == button.get("form")), None)
    fields = [("csrfmiddlewaretoken", "")] if form is None else form.form_values()
    if button.get("name"):
        fields = [*fields, (button.get("name"), button.get("value", ""))]
    return PageForm(
        "POST",
        _local(urljoin(path, button.get("formaction"))),
        tuple((name, value or "") for name, value in fields),
        htmx=button.get("hx-post") is not None,
    )


def _is_ours(link: str) -> bool:
    parts = urlsplit(link) if "[" not in link else urlsplit("x:")
    return not parts.netloc and parts.scheme in ("", "http", "https")


def _local(link: str) -> str:
    parts = urlsplit(link)
    return (parts.path or "/") + ("?" + parts.query if parts.query else "")
