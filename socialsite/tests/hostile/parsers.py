"""Every parser and regular expression that reads input of people or their programs.

`test_linear.py` checks that each takes linear time up to its maximum length, and that no module has
a parser that is not in this table. A parser that raises an error of the site refuses the text.
"""

import base64
import importlib
import io
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from types import SimpleNamespace
from typing import Any

import orjson
import ua_parser
from django.contrib.messages.storage.cookie import CookieStorage
from django.contrib.sessions.backends.signed_cookies import SessionStore
from django.core.exceptions import (
    DisallowedHost,
    RequestDataTooBig,
    TooManyFieldsSent,
    TooManyFilesSent,
)
from django.core.handlers.wsgi import WSGIRequest
from django.http import Http404
from django.http.multipartparser import MultiPartParserError

# The stubs lack some functions of Django, private ones above all.
from django.middleware.csrf import (  # type: ignore[attr-defined]
    InvalidTokenFormat,
    _check_token_format,
)
from django.template.defaultfilters import (  # type: ignore[attr-defined]
    linebreaks,
    linebreaksbr,
)
from django.urls import resolve
from django.utils.http import parse_http_date_safe
from django.utils.text import smart_split
from django.utils.translation import get_language_from_request, trans_real
from django_htmx.middleware import HtmxDetails
from rest_framework.request import Request
from webauthn.helpers import bytes_to_base64url, encode_cbor

from accounts import devices, email_rules, profile_rules, tokens
from accounts.api import passkey_serializers, serializers
from accounts.credentials import passkeys, password_rules, two_factor
from accounts.live import handshake
from accounts.mail import choices, links
from accounts.naming import lookalikes, name_rules, open_nicknames
from accounts.naming import search as name_search
from accounts.request_auth import authentication, service_keys
from accounts.sign_in import challenge, known_devices
from accounts.tests.push import endpoint
from accounts.views import closing, link_cookie, tickets
from feeds.content.polls import definition
from feeds.content.previews import addresses, encodings, markup, pages
from feeds.discovery.search import cursors, indexing
from feeds.discovery.search import language as search_language
from feeds.discovery.search.matching import Text
from feeds.discovery.tags import queries as tag_queries
from feeds.imports import html_texts, records
from feeds.models import PostContent
from feeds.views import composer, drafts, oembed
from interactions.actions import comments
from relations import imports as people_imports
from relations.api import views as relations
from socialsite.core import positions, text
from socialsite.core.admin import SEARCH_MAX
from socialsite.core.client import outgoing, web_push
from socialsite.core.errors import AppError, PasskeyRefused
from socialsite.core.http import api, ip_addresses, ranges, return_addresses
from socialsite.core.http.json import JsonForAll, OrjsonParser, OrjsonRenderer
from socialsite.core.http.server import body_limits, header_limits, uvicorn_protocols
from socialsite.core.imports import elements, tables
from socialsite.core.imports.kinds import Unreadable
from socialsite.core.media import picture_limits as media_parts
from socialsite.core.media import pictures, stored_files, video_links
from socialsite.core.media.videos import captions
from socialsite.core.runtime import redaction, request_ids
from socialsite.core.search import words
from socialsite.core.text import markdown, mentions, spans
from socialsite.core.text.cuts import cut
from socialsite.pages import articles, jinja

Run = Callable[[str], object]
REFUSED = (
    AppError,
    DisallowedHost,
    Http404,
    InvalidTokenFormat,
    MultiPartParserError,
    RequestDataTooBig,
    TooManyFieldsSent,
    TooManyFilesSent,
    handshake.ForeignPage,
    media_parts.TooManyParts,
)
ARTICLE = max(PostContent.TEXT_MAX.values())
BODY, FORM = body_limits.OTHER, body_limits.ARTICLE
HEAD, LINE = uvicorn_protocols.HEAD_BYTES, header_limits.HEADER_MAX
LANGUAGE = trans_real.LANGUAGE_CODE_MAX_LENGTH
previews = importlib.import_module("interactions.queries.notifications")


@dataclass(frozen=True)
class Parser:
    """A parser, and the maximum length of its input in characters."""

    name: str
    most: int
    run: Run

    def __call__(self, value: str) -> None:
        """Parse a text; ignore errors that refuse it, raise all others."""
        with suppress(*REFUSED):
            self.run(value)


def passkey_statement(value: str) -> None:
    """Parse a text as a passkey's statement, and as the data in it."""
    for data in (value.encode(), encode_cbor({"authData": value.encode()})):
        response = {"clientDataJSON": CLIENT_DATA, "attestationObject": bytes_to_base64url(data)}
        credential = {"id": "YQ", "rawId": "YQ", "type": "public-key", "response": response}
        with suppress(PasskeyRefused):
            passkeys._guarded(partial(passkeys._check_new, credential, b"a"))


def passkey_client_data(value: str) -> None:
    """Parse a text as what a browser says about a passkey, plain and in base64url."""
    for data in (value, bytes_to_base64url(value.encode())):
        with suppress(PasskeyRefused):
            passkeys._challenge({"response": {"clientDataJSON": data}}, "log-in", "")


CLIENT_DATA = bytes_to_base64url(
    b'{"type": "webauthn.create", "challenge": "YQ", "origin": "http://localhost:8000"}'
)


# --- requests -----------------------------------------------------------------------------------
def request(body: bytes = b"", **meta: str) -> WSGIRequest:
    """Make a request as the entry points do, with bounded headers."""
    environ: dict[str, Any] = {
        "REQUEST_METHOD": "POST",
        "PATH_INFO": "/",
        "QUERY_STRING": "",
        "SERVER_NAME": "localhost",
        "SERVER_PORT": "80",
        "HTTP_HOST": "localhost",
        "CONTENT_LENGTH": str(len(body)),
        "wsgi.input": io.BytesIO(body),
        **{name: latin(value) for name, value in meta.items()},
    }
    header_limits.bound(environ)
    return WSGIRequest(environ)


def latin(value: str) -> str:
    """Return a text as a server passes it on: bytes as Latin-1."""
    return value.encode().decode("latin-1")


def form(data: str) -> None:
    made = request(data.encode(), CONTENT_TYPE="application/x-www-form-urlencoded")
    made.POST.dict()


def multipart(before: str, value: str, after: str = "\r\n--b--\r\n", boundary: str = "b") -> None:
    content_type = f"multipart/form-data; boundary={boundary}"
    made = request((before + value + after).encode(), CONTENT_TYPE=content_type)
    made.POST.dict()
    made.FILES.dict()


def part(name: str, value: str, more: str = "") -> None:
    multipart(f'--b\r\nContent-Disposition: form-data; name="a"{name}\r\n{more}\r\n', value)


CAPTION = "WEBVTT\n\n00:01.000 --> 00:02.000 \n\n"


def caption(words: str, place: str) -> None:
    captions.tidied(f"WEBVTT\n\n00:01.000 --> 00:02.000 {place}\n{words}\n".encode())


def stored_messages(value: str) -> None:
    storage: Any = CookieStorage(request(HTTP_COOKIE=f"messages={value}"))
    storage._get()


def language(**meta: Any) -> None:
    cached: Any = trans_real  # the stubs lack its private functions
    cached._parse_accept_lang_header.cache_clear()
    cached._get_supported_language_variant.cache_clear()
    cached.translation_catalog_exists.cache_clear()
    get_language_from_request(request(**meta))


def json_body(value: str) -> None:
    OrjsonParser().parse(io.BytesIO(value.encode()))


def accept(value: str) -> None:
    asked = Request(request(HTTP_ACCEPT=value))
    JsonForAll().select_renderer(asked, [OrjsonRenderer()])


def htmx(value: str) -> None:
    asked = request(HTTP_HX_CURRENT_URL=value, HTTP_HX_CURRENT_URL_URI_AUTOENCODED="true")
    return_addresses.own_path(asked, HtmxDetails(asked).current_url)


def socket(header: bytes, value: str, query: bytes = b"") -> None:
    read = header_limits.bounded(header.decode(), latin(value)).encode("latin-1")
    fields = {b"host": b"localhost", b"origin": b"http://127.0.0.1:8000", header: read}
    handshake.read({"headers": list(fields.items()), "query_string": query})


def salted(value: str) -> None:
    texts = {"algorithm": challenge.ALGORITHM, "challenge": "", "salt": value, "signature": ""}
    solution = orjson.dumps({"number": 1, **texts})
    challenge._signature(base64.b64encode(solution).decode())


def signed_by_nobody(value: str) -> None:
    cookies = {known_devices.COOKIE: value}
    known_devices._read(type("Asked", (), {"COOKIES": cookies})())


def service(value: str) -> None:
    for kind in ("Bearer", "Basic"):
        service_keys.service_of(f"{kind} {value}".encode())
    service_keys.service_of(b"Basic " + base64.b64encode(value.encode()))


def carried_by_nobody(value: str) -> None:
    carrier = link_cookie.RECOVERY
    carrier.token(type("Asked", (), {"COOKIES": {carrier.cookie: value}})())


def user_agent(value: str) -> str:
    return devices.user_agent_of(request(HTTP_USER_AGENT=value))


_agents = ua_parser.Parser(ua_parser.BestAvailableResolver(ua_parser.load_builtins()))


def publish_time(value: str) -> None:
    """Read the time of a draft, as its page sends it."""
    sent: Any = SimpleNamespace(POST={"publish_at": value})
    drafts._publish_time(sent)


def option(value: str) -> None:
    """Read an option of a poll, as the form sends it."""
    given = definition.Given(options=[value, "no"], multiple=False, ends_at=None, lasts=3600)
    definition.flaws(definition.tidy(given), 0, whole=True)


def poll_end(value: str) -> None:
    """Read the end of a poll, as the form sends it."""
    sent: Any = SimpleNamespace(POST={"option-0": "yes", "poll_end": value})
    composer._poll(sent)


def indexed(value: str) -> None:
    """Index a text, with no term known from the text before."""
    words.number.cache_clear()
    indexing.terms_of(Text(value, value, value, (value,), (), "", False, 0), 1)


def preview_address(value: str) -> None:
    for shown in (value, f"https://{value}", f"https://site.example/{value}"):
        address = addresses.address_of("micro", PostContent(content=shown))
        if address:
            addresses.host_of(address)


def page_of_one_tag(value: str) -> None:
    """Read pages that are one tag: with a text as value, and with as many attributes as fit."""
    markup.described(f"<meta content={value}>")
    markup.described(f'<meta content="{value}>')
    markup.described("<meta " + " ".join(f"a{number}" for number in range(len(value) // 8)) + ">")


def encoding_of_page(value: str) -> None:
    for page in (value, f"<?xml {value}", f'<meta http-equiv=content-type content="{value}">'):
        encodings.decoded(page.encode(), "text/html")


def encoding_in_header(value: str) -> None:
    encodings.decoded(b"", f"text/html;{value}")
    encodings.decoded(b"", f"text/html; charset={value}")


def address_in_ascii(value: str) -> None:
    for address in (f"https://é.{value}/", f"https://a.example/é{value}"):
        video_links.normal(address)


def picture_address(value: str) -> None:
    for base, shown in ((value, "a"), ("", f"https://{value}")):
        with suppress(ValueError):
            pages._joined("https://site.example/a/b", base, shown)


def embedded_address(value: str) -> None:
    asked: Any = SimpleNamespace(GET={"url": value}, get_host=lambda: "localhost")
    oembed._post_id(asked)


def outgoing_address(value: str) -> None:
    with suppress(outgoing.Refused):
        outgoing._parts(f"https://{value}")
    with suppress(outgoing.Refused):
        outgoing._parts(f"https://site.example/{value}")


def browser_keys(value: str) -> None:
    for given in ((value, ""), (endpoint.POINT, value)):
        with suppress(ValueError):
            web_push.keys_of(*given)


def retry_after(value: str) -> None:
    web_push.retry_after({"retry-after": value})


def device_name(value: str) -> None:
    """Return the name of a device, with a parser that caches nothing."""
    kept, ua_parser.parser = ua_parser.parser, _agents
    try:
        devices.name_of("other", user_agent(value))
        devices.name_of("chrome", user_agent(f"Mozilla/5.0 {value}"))
    finally:
        ua_parser.parser = kept


def parts(value: str) -> None:
    """Walk the parts of a JPEG, in which every "a" begins a segment."""
    media_parts.check(b"\xff\xd8" + value.encode("latin-1", "replace").replace(b"a", b"\xff"))


def table(value: str) -> None:
    """Read the cells of a table, in one quoted field and in rows."""
    for given in (value, f'"{value}', "a,b\n" + value.replace("a", "\n")):
        with suppress(Unreadable):
            for _cell in tables.cells_of(io.StringIO(given, newline="")):
                pass


def json_objects(value: str) -> None:
    """Find the objects of a list in JSON."""
    for given in (value, f"[{value}]", f'[{{"a":"{value}"}}]'):
        with suppress(Unreadable):
            for _one in elements.objects([given.encode("utf-8", "replace")]):
                pass


def post_elsewhere(value: str) -> None:
    """Make a post of what another site says."""
    html_texts.text_of(value)
    html_texts.text_of(f'<a class="mention" href="{value}">{value}</a>')
    records.elsewhere(value, "a.example")
    records.as_markdown(value)
    with suppress(records.Wrong):
        records.ms_of(value)


def links_shown(value: str) -> None:
    jinja._linked.__wrapped__(value, False)


def article_read(value: str) -> None:
    """Read the words and signs of an article, as when it is published or indexed."""
    markdown._read.__wrapped__(value)


def article_shown(value: str) -> None:
    """Render an article with a picture, as on its page."""
    sizes = (("width", 1), ("height", 1), ("placeholder", ""))
    picture = (("id", "1"), ("url", "/media/a.jpg"), ("thumb", ""), *sizes)
    articles._article.__wrapped__("en", value, ((*picture, ("alt", "")),))


PARSERS = [
    # --- texts ---
    Parser("names and addresses of a text", ARTICLE, spans.spans),
    Parser("tags of a text", ARTICLE, spans.tag_names),
    Parser("a tag", HEAD, tag_queries.named),
    Parser("a search", HEAD, search_language.parse),
    Parser("a short search", search_language.LENGTH_MAX, search_language.parse),
    Parser("words of a text", ARTICLE, words.split),
    Parser("what is indexed of a text", ARTICLE, indexed),
    Parser("the first half of a text", ARTICLE, lambda value: cut(value, len(value) // 2)),
    Parser("a name that is looked for", HEAD, name_search.key_of),
    Parser("a cursor of a search", HEAD, cursors.Cursor.decode),
    Parser("what a page says about itself", pages.MAX_BYTES, markup.described),
    Parser("a tag of a page", pages.MAX_BYTES, page_of_one_tag),
    Parser("the encoding of a page", pages.MAX_BYTES, encoding_of_page),
    Parser("the address of a page's picture", outgoing.URL_MAX - 32, picture_address),
    Parser("an encoding in a header", outgoing.HEADERS_MAX, encoding_in_header),
    Parser("the address of a preview", HEAD, preview_address),
    Parser("an address to embed", HEAD, embedded_address),
    Parser("the keys of a browser", web_push.P256DH_MAX, browser_keys),
    Parser("an endpoint", web_push.ENDPOINT_MAX, web_push.host_of),
    Parser("a time of a push service", outgoing.HEADERS_MAX, retry_after),
    Parser("an address to ask", outgoing.URL_MAX - 32, outgoing_address),
    Parser("a range of a file", LINE, ranges._RANGE.fullmatch),
    Parser("an option of a poll", FORM, option),
    Parser("the end of a poll", FORM, poll_end),
    Parser("links of a text", ARTICLE, links_shown),
    Parser("the beginning of a text", ARTICLE, lambda value: spans.beginning(value, 480)),
    Parser("the words of an article", ARTICLE, article_read),
    Parser("an article", ARTICLE, article_shown),
    Parser("the time to read an article", ARTICLE, articles.minutes_of),
    Parser("who a text names", ARTICLE, mentions.usernames),
    Parser("a text, cleaned", ARTICLE, text.clean),
    Parser("a comment", BODY // 4, comments._words),
    Parser("a preview", ARTICLE, previews.preview_of),
    Parser("a description of a picture", BODY // 4, pictures.clean_alt),
    Parser(
        "a video's address",
        video_links.URL_MAX,
        lambda value: video_links.host_of(f"https://{value}"),
    ),
    Parser("an address in ASCII", outgoing.URL_MAX - 32, address_in_ascii),
    Parser("a text in the admin", ARTICLE, lambda value: (linebreaks(value), linebreaksbr(value))),
    Parser("a search in the admin", SEARCH_MAX, lambda value: list(smart_split(value))),
    # --- accounts ---
    Parser("a username", serializers.INPUT_MAX, name_rules.username),
    Parser("a nickname", serializers.INPUT_MAX, name_rules.nickname),
    Parser("a line of a profile", serializers.INPUT_MAX, profile_rules.one_line),
    Parser("a name of any script", serializers.INPUT_MAX, open_nicknames.mistakes),
    Parser("a name like that of staff", serializers.INPUT_MAX, lookalikes.names_staff),
    Parser(
        "a password", serializers.INPUT_MAX, lambda value: password_rules.mistakes(value, "a", "b")
    ),
    Parser("a password, normalized", serializers.INPUT_MAX, password_rules.normal),
    Parser("a mail address", serializers.EMAIL_MAX, email_rules.mistakes),
    Parser("a code", serializers.INPUT_MAX, two_factor.cleaned),
    # Base64url has four characters for three bytes.
    Parser("data of a passkey", passkey_serializers.PART_MAX * 3 // 4, passkey_client_data),
    Parser("a statement of a passkey", passkey_serializers.PART_MAX * 3 // 4, passkey_statement),
    Parser("a secret", LINE, lambda value: two_factor.unseal(value, 1)),
    Parser("a device's id", serializers.INPUT_MAX, devices.is_client),
    Parser("a kind of browser", LINE, lambda value: devices.browser_of(user_agent(value))),
    Parser("a name of a device", LINE, device_name),
    Parser("a token", LINE, tokens.decode_any),
    Parser("a token's middle", LINE, lambda value: tokens.decode_any(f"e30.{value}.a")),
    Parser("a bearer", LINE, lambda value: authentication.bearer(value.encode())),
    Parser("a key of a service", LINE, service),
    Parser("a link of a mail", serializers.TOKEN_MAX, links.read_email),
    Parser("a signed link", serializers.TOKEN_MAX, lambda value: links.read_email(f"{value}:a:b")),
    Parser("a link that ends mails", serializers.TOKEN_MAX, choices.read),
    Parser("a link to recover", serializers.TOKEN_MAX, links.recovering),
    Parser("a ticket", BODY, lambda value: tickets.holder_of(value, "appeal", 300)),
    Parser("the time of a closing", BODY, closing.time_in),
    Parser("a solved task", challenge.SOLUTION_MAX, challenge._signature),
    Parser("the salt of a solved task", challenge.SOLUTION_MAX // 2, salted),
    Parser("a known device", LINE, signed_by_nobody),
    Parser("a link in a cookie", LINE, carried_by_nobody),
    Parser("a signed link in a cookie", LINE, lambda value: carried_by_nobody(f"{value}:a:b")),
    # --- lines of logs ---
    Parser("the id of a request", BODY, request_ids.is_id),
    Parser("a line of a log", BODY, redaction.redact),
    Parser("a secret in one", BODY, lambda value: redaction.redact(f"token={value}")),
    Parser("a quoted secret in one", BODY, lambda value: redaction.redact(f"token='{value}")),
    Parser("a mailed link in one", BODY, lambda value: redaction.redact(f"/recover/{value}")),
    Parser("a token in one", BODY, lambda value: redaction.redact(f"Bearer eyJ{value}")),
    Parser("an address in one", BODY, lambda value: redaction.redact(f"redis://:{value}")),
    # --- parameters ---
    Parser("a cursor", HEAD, positions.Position.decode),
    Parser("an id", HEAD, api.parse_id),
    Parser("ids", HEAD, relations._ids),
    Parser("a path with a limit", HEAD, lambda value: body_limits.limit_of("POST", value, "")),
    Parser(
        "a number in one", HEAD, lambda value: body_limits.limit_of("POST", f"/drafts/{value}", "")
    ),
    Parser("a time to publish", BODY, publish_time),
    Parser("a time", HEAD, lambda value: api.parse_time(value, "until")),
    Parser(
        "an address to return to", BODY, lambda value: return_addresses.own_path(request(), value)
    ),
    Parser(
        "a host to return to",
        BODY,
        lambda value: return_addresses.own_path(request(), f"//{value}"),
    ),
    Parser("a page to return to", LINE, lambda value: return_addresses.own_page(request(), value)),
    Parser("the page of htmx", LINE, htmx),
    Parser("the host of htmx", LINE, lambda value: htmx(f"http://{value}")),
    # --- headers ---
    Parser("a content type", LINE, lambda value: request(CONTENT_TYPE=value)),
    Parser("a parameter of it", LINE, lambda value: request(CONTENT_TYPE=f'a/b; x="{value}')),
    Parser("cookies", LINE, lambda value: request(HTTP_COOKIE=value).COOKIES),
    Parser("a cookie in quotes", LINE, lambda value: request(HTTP_COOKIE=f'a="{value}"').COOKIES),
    Parser(
        "languages",
        trans_real.LANGUAGE_CODE_MAX_LENGTH,
        lambda value: language(HTTP_ACCEPT_LANGUAGE=value),
    ),
    Parser(
        "a language",
        trans_real.LANGUAGE_CODE_MAX_LENGTH,
        lambda value: language(HTTP_COOKIE=f"django_language={value}"),
    ),
    Parser("accepted types", LINE, accept),
    Parser("a parameter of one", LINE, lambda value: accept(f'a/b; x="{value}')),
    Parser("types of a page", LINE, lambda value: request(HTTP_ACCEPT=value).accepted_types),
    Parser("a host", LINE, lambda value: request(HTTP_HOST=value).get_host()),
    Parser("proxies", LINE, lambda v: ip_addresses.address_of(request(HTTP_X_FORWARDED_FOR=v))),
    Parser("a date", LINE, parse_http_date_safe),
    Parser("a CSRF token", LINE, _check_token_format),
    Parser("messages", LINE, stored_messages),
    Parser("a session", LINE, lambda value: SessionStore(value).load()),
    Parser("a socket's cookies", LINE, lambda value: socket(b"cookie", f'a="{value}"')),
    Parser("a socket's token", LINE, lambda value: socket(b"authorization", f"Bearer {value}")),
    Parser("a socket's page", LINE, lambda value: socket(b"origin", value)),
    Parser("a socket's ticket", LINE, lambda value: socket(b"x", "", value.encode())),
    # --- addresses and bodies ---
    Parser("a path", HEAD, lambda value: resolve(f"/{value}")),
    Parser("a path of the API", HEAD, lambda value: resolve(f"/api/v1/{value}")),
    Parser("a path of the admin", HEAD, lambda value: resolve(f"/admin/{value}")),
    Parser("a picture's file", HEAD, stored_files.NAME.fullmatch),
    Parser("a picture's parts", BODY, parts),
    Parser("captions", captions.BYTES, lambda value: captions.tidied(value.encode())),
    Parser("a caption", captions.BYTES - len(CAPTION), lambda value: caption(value, "")),
    Parser("a caption's place", captions.BYTES - len(CAPTION), lambda value: caption("", value)),
    Parser("a table to import", tables.ROWS_MAX, table),
    Parser("a JSON list to import", tables.ROWS_MAX, json_objects),
    Parser("a post to import", PostContent.TEXT_MAX["article"], post_elsewhere),
    Parser("a row to import", tables.LINE_MAX, lambda value: people_imports.told(1, value, "a.b")),
    Parser("a language of captions", HEAD, captions.LANGUAGE.fullmatch),
    Parser("a query", HEAD, lambda value: request(QUERY_STRING=value).GET.dict()),
    Parser("a form", FORM, form),
    Parser("a field of a form", FORM, lambda value: form(f"a={value}")),
    Parser("parts of a body", BODY, lambda value: multipart("", value)),
    Parser("a part's head", BODY, lambda value: part(value, "")),
    Parser("a part's words", BODY, lambda value: part("", value)),
    Parser("a part's file", BODY, lambda value: part('; filename="b"', value)),
    Parser(
        "a part in base64",
        BODY,
        lambda value: part("", value, "Content-Transfer-Encoding: base64\r\n"),
    ),
    Parser("a boundary", LINE, lambda value: multipart("--", "", boundary=value)),
    Parser("JSON", FORM, json_body),
    Parser("a text in JSON", FORM, lambda value: json_body(f'{{"a":"{value}"}}')),
]

# Calls that parse a text, and the modules that make them.
CALLS = {
    *("base36_to_int", "b64decode", "fromisoformat", "ip_address", "ip_network", "loads"),
    *("literal_eval", "normalize", "parse_cookie", "parse_header_parameters", "parse_os"),
    *(
        "parse_qs",
        "parse_qsl",
        "parse_user_agent",
        "parsedate",
        "reader",
        "smart_split",
        "strptime",
    ),
    *("RegexValidator", "Truncator", "unquote", "unquote_plus", "url_has_allowed_host_and_scheme"),
    *("urlize", "urlparse", "urlsafe_b64decode", "urlsplit", "validate_email", "tokenize"),
}
OURS = "texts that this site or its administrator wrote"
READERS: dict[str, str | tuple[str, ...]] = {
    "accounts/cache/__init__.py": OURS,
    "accounts/erasing/verifying.py": OURS,
    "socialsite/core/site/__init__.py": OURS,
    "socialsite/core/cache_servers.py": OURS,
    "socialsite/core/events/brokers.py": OURS,
    "socialsite/core/runtime/broker_settings.py": OURS,
    "socialsite/management/commands/check_settings.py": OURS,
    "socialsite/core/site/announcements.py": OURS,
    "accounts/devices.py": (
        "a kind of browser",
        "a name of a device",
        "a device's id",
    ),
    "accounts/live/handshake.py": ("a socket's cookies", "a socket's ticket"),
    "accounts/sign_in/challenge.py": ("a solved task", "the salt of a solved task"),
    "accounts/sign_in/known_devices.py": ("a known device",),
    "accounts/mail/choices.py": ("a link that ends mails",),
    "accounts/mail/links.py": ("a link of a mail", "a signed link", "a link to recover"),
    "socialsite/core/http/ip_addresses.py": ("proxies",),
    "accounts/queries.py": OURS,
    "accounts/naming/name_rules.py": ("a username", "a nickname"),
    "accounts/credentials/password_rules.py": ("a password", "a password, normalized"),
    "accounts/email_rules.py": ("a mail address",),
    "accounts/profile_rules.py": ("a line of a profile",),
    "feeds/discovery/search/language.py": ("a search", "a short search"),
    "feeds/discovery/search/cursors.py": ("a cursor of a search",),
    "socialsite/core/search/words.py": ("words of a text", "what is indexed of a text"),
    "socialsite/core/text/folding.py": ("words of a text", "a name that is looked for", "a tag"),
    "accounts/naming/lookalikes.py": ("a name like that of staff",),
    "accounts/naming/open_nicknames.py": ("a name of any script",),
    "accounts/credentials/passkeys.py": ("data of a passkey", "a statement of a passkey"),
    "accounts/credentials/two_factor.py": ("a code", "a secret"),
    "accounts/request_auth/service_keys.py": ("a key of a service",),
    "accounts/tokens/keys.py": ("a token", "a token's middle"),
    "accounts/views/link_cookie.py": ("a link in a cookie", "a signed link in a cookie"),
    "accounts/views/forms.py": (
        "an address to return to",
        "a host to return to",
        "a page to return to",
    ),
    "accounts/views/tickets.py": ("a ticket",),
    "accounts/views/closing.py": ("the time of a closing",),
    "feeds/cards/hydration.py": OURS,
    "feeds/content/polls/definition.py": ("an option of a poll", "the end of a poll"),
    "feeds/content/previews/actions.py": ("the address of a preview",),
    "feeds/content/previews/addresses.py": ("the address of a preview",),
    "feeds/content/previews/encodings.py": ("the encoding of a page", "an encoding in a header"),
    "feeds/content/previews/markup.py": (
        "what a page says about itself",
        "a tag of a page",
    ),
    "feeds/content/previews/pages.py": ("the address of a page's picture",),
    "feeds/views/drafts.py": ("a time to publish",),
    "feeds/views/feed_files.py": OURS,
    "feeds/views/oembed.py": ("an address to embed",),
    "socialsite/core/http/server/body_limits.py": ("a path with a limit", "a number in one"),
    "socialsite/pages/profile_texts.py": OURS,
    "socialsite/core/media/video_links.py": ("a video's address",),
    "socialsite/core/http/return_addresses.py": (
        "an address to return to",
        "a host to return to",
        "a page to return to",
    ),
    "socialsite/core/http/api.py": ("a time",),
    "socialsite/core/client/outgoing.py": ("an address to ask",),
    "socialsite/core/client/web_push.py": ("an endpoint", "a time of a push service"),
    "socialsite/core/runtime/vapid.py": ("the keys of a browser",),
    "socialsite/core/rate_limits/budget.py": OURS,
    "socialsite/core/http/json.py": ("JSON", "a text in JSON"),
    "socialsite/core/media/buckets/address.py": OURS,
    "socialsite/core/media/stored_files.py": ("a picture's file",),
    "socialsite/core/media/picture_limits.py": ("a picture's parts",),
    "socialsite/core/media/videos/captions.py": (
        *("captions", "a caption", "a caption's place", "a language of captions"),
    ),
    "socialsite/core/imports/tables.py": ("a table to import",),
    "socialsite/core/imports/elements.py": ("a JSON list to import",),
    "socialsite/core/imports/spools.py": OURS,
    "feeds/imports/archives.py": ("a JSON list to import", "a post to import"),
    "feeds/imports/html_texts.py": ("a post to import",),
    "feeds/imports/records.py": ("a post to import",),
    "socialsite/core/media/videos/probing.py": OURS,
    "socialsite/core/media/videos/sources.py": OURS,
    "socialsite/core/http/ranges.py": ("a range of a file",),
    "socialsite/core/positions.py": ("a cursor",),
    "socialsite/core/runtime/redaction.py": (
        "a line of a log",
        "a secret in one",
        "a quoted secret in one",
        "a mailed link in one",
        "a token in one",
        "an address in one",
    ),
    "socialsite/core/events/stream/__init__.py": OURS,
    "socialsite/core/events/stream/rabbitmq.py": OURS,
    "socialsite/core/events/stream/redis_streams.py": OURS,
    "socialsite/core/runtime/metrics_settings.py": OURS,
    "socialsite/core/runtime/own_keys.py": OURS,
    "socialsite/core/runtime/stream_settings.py": OURS,
    "socialsite/core/runtime/request_ids.py": ("the id of a request",),
    "socialsite/core/telemetry/storage.py": OURS,
    "socialsite/metrics/middleware.py": OURS,
    "socialsite/core/runtime/service_keys.py": OURS,
    "socialsite/core/text/__init__.py": ("a text, cleaned",),
    "socialsite/core/text/characters.py": OURS,
    "socialsite/core/text/urls.py": ("an address in ASCII",),
    "socialsite/core/text/markdown.py": ("the words of an article", "an article"),
    "socialsite/pages/articles.py": ("an article", "the time to read an article"),
    "socialsite/core/text/spans.py": ("names and addresses of a text", "tags of a text"),
    "socialsite/demo/people.py": OURS,
    "socialsite/demo/words.py": OURS,
    "socialsite/env.py": OURS,
    **dict.fromkeys(
        (
            # What operators type, and what services of the site's own answer.
            "socialsite/core/runtime/control/caller.py",
            "socialsite/doctor/backups.py",
            "socialsite/doctor/checks/configuration.py",
            "socialsite/doctor/checks/machine.py",
            "socialsite/doctor/checks/mail.py",
            "socialsite/doctor/checks/tls.py",
            "socialsite/doctor/reports.py",
            "socialsite/pages/jinja.py",
            "socialsite/pages/cached_html.py",
            "socialsite/pages/times.py",
        ),
        OURS,
    ),
    "socialsite/settings.py": OURS,
}
