"""Valid values by the name of a field or parameter; learned from the site's responses."""

import io
import secrets
from collections import defaultdict, deque
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from PIL import Image

from chaos.campaign.fuzz.hostile_values import ARTICLE_MAX, POST_MAX, Dice
from chaos.campaign.fuzz.schema import Operation, value
from chaos.campaign.site.people import Person, links
from chaos.campaign.site.requests import Upload

KEPT = 400  # of each kind; older ones are the initial objects


def _ids() -> "deque[str]":
    return deque(maxlen=KEPT)


@dataclass
class Known:
    """Known ids of the site, from its responses; shared by all threads."""

    posts: "deque[str]" = field(default_factory=_ids)
    comments: "deque[str]" = field(default_factory=_ids)
    users: "deque[str]" = field(default_factory=_ids)
    names: "deque[str]" = field(default_factory=_ids)
    notifications: "deque[str]" = field(default_factory=_ids)
    cursors: "deque[str]" = field(default_factory=_ids)
    deleted: "deque[str]" = field(default_factory=_ids)
    times: "deque[str]" = field(default_factory=_ids)
    tags: "deque[str]" = field(default_factory=_ids)
    polls: "deque[str]" = field(default_factory=_ids)
    comments_of: "dict[str, deque[str]]" = field(default_factory=lambda: defaultdict(_ids))
    media_of: "dict[str, deque[str]]" = field(default_factory=lambda: defaultdict(_ids))
    uploads_of: "dict[str, deque[str]]" = field(default_factory=lambda: defaultdict(_ids))
    posts_of: "dict[str, deque[str]]" = field(default_factory=lambda: defaultdict(_ids))
    drafts_of: "dict[str, deque[str]]" = field(default_factory=lambda: defaultdict(_ids))
    clients_of: "dict[str, deque[str]]" = field(default_factory=lambda: defaultdict(_ids))

    def learn(self, found: Any, asker: Person) -> None:
        """Store the ids of a response."""
        if isinstance(found, list):
            for one in found:
                self.learn(one, asker)
        if not isinstance(found, dict):
            return
        ident = found.get("id")
        if isinstance(ident, str) and ident.isdigit():
            if "root_id" in found:
                self.comments.append(ident)
            elif "publish_at" in found:
                self.drafts_of[asker.id].append(ident)
            elif "visibility" in found:
                self.posts.append(ident)
                self.tags.extend(found.get("tags", ()))
                if found.get("poll"):
                    self.polls.append(ident)
                if (found.get("author") or {}).get("id") == asker.id:
                    self.posts_of[asker.id].append(ident)
            elif "username" in found:
                self.users.append(ident)
                self.names.append(found["username"])
            elif "actor_count" in found:
                self.notifications.append(ident)
                self.times.append(found.get("created_at", ""))
            elif "thumb" in found and "width" in found and asker.id:
                self.media_of[asker.id].append(ident)
            elif "received" in found:
                self.uploads_of[asker.id].append(ident)
        if isinstance(found.get("next"), str):
            self.cursors.append(found["next"])
        if "current" in found and isinstance(found.get("client"), str):
            self.clients_of[asker.id].append(found["client"])
        for one in found.values():
            if isinstance(one, dict | list):
                self.learn(one, asker)


class Values:
    """Chooses values for one thread."""

    def __init__(self, known: Known, dice: Dice) -> None:
        self.known, self.dice = known, dice
        self.numbers = 0

    def one_of(self, found: "deque[str]", other: str = "1") -> str:
        """Return one of a kind, usually a newer one."""
        if not found:
            return other
        if self.dice.random() < 0.5:
            return found[-1 - min(len(found) - 1, int(self.dice.expovariate(0.2)))]
        return found[self.dice.randrange(len(found))]

    def post(self, person: Person) -> str:
        """Return the id of a post, often one's own."""
        own = self.known.posts_of.get(person.id)
        return self.one_of(own if own and self.dice.random() < 0.4 else self.known.posts)

    def user(self) -> str:
        """Return the id of a person."""
        return self.one_of(self.known.users)

    def picture(self) -> Upload:
        """Return a small picture."""
        out = io.BytesIO()
        kind = self.dice.choice(("PNG", "JPEG", "WEBP", "GIF"))
        size = (self.dice.randrange(1, 90), self.dice.randrange(1, 90))
        colour = (self.dice.randrange(256), self.dice.randrange(256), 99)
        Image.new("RGB", size, colour).save(out, kind)
        return Upload(f"a.{kind.lower()}", out.getvalue(), f"image/{kind.lower()}")

    # --- bodies ---------------------------------------------------------------------------------
    def body(self, operation: Operation, person: Person) -> dict[str, Any]:
        """Return a valid body for a JSON operation."""
        if operation.path.endswith("/posts"):
            return self._post(person)
        chosen = {
            name: self.field(name, schema, operation.path, person)
            for name, schema in operation.properties.items()
            if name in operation.required or self.dice.random() < 0.6
        }
        if operation.path.endswith("/reports"):
            kinds = {"post": self.post(person), "user": self.user()}
            kinds["comment"] = self.one_of(self.known.comments)
            chosen["id"] = kinds.get(str(chosen.get("type")), "1")
            chosen.setdefault("words", "because")
        if operation.path.endswith("/comments"):
            chosen.pop("parent", None)
        return chosen

    def _post(self, person: Person) -> dict[str, Any]:
        kind = self.dice.choice(("micro", "micro", "article", "video"))
        found: dict[str, Any] = {"content": self.text()}
        if kind != "micro" or self.dice.random() < 0.5:
            found["kind"] = kind
        if kind == "article":
            found |= {"title": self.text(100), "content": self.text(ARTICLE_MAX)}
        if kind == "video":
            found["video_url"] = f"https://a.example/{self.dice.randrange(99)}.mp4"
        media = self.known.media_of.get(person.id)
        if media and kind != "video" and self.dice.random() < 0.3:
            found["images"] = list({int(self.one_of(media)) for _ in range(3)})
        if self.dice.random() < 0.3:
            found["visibility"] = self.dice.choice(("public", "quiet", "followers", "self"))
        if self.dice.random() < 0.15:
            found["poll"] = self.poll()
        return found

    def poll(self) -> dict[str, Any]:
        """Return a poll for a post or a draft."""
        options = [f"option {number}" for number in range(self.dice.randrange(2, 9))]
        return {"options": options, "multiple": self.dice.random() < 0.5, "lasts": 3600}

    def text(self, limit: int = POST_MAX) -> str:
        """Return a text that somebody might write, now and then of the maximum length."""
        if self.dice.random() < 0.1:
            found = self.dice.hostile_text(limit)[:limit]
            return found.encode(errors="ignore").decode().replace("\0", "") or "x"
        name = self.one_of(self.known.names, "nobody")
        mention = f"hi @{name} #tag{self.dice.randrange(20)} ok"
        return self.dice.choice((self.dice.words(min(limit, 200)), mention[:limit]))

    def field(self, name: str, schema: Mapping[str, Any], path: str, person: Person) -> Any:
        """Return a value of a field by its name, otherwise by its schema."""
        made = FIELDS.get(name)
        if made is not None:
            return made(self, path, person)
        return value(schema, self.dice)

    def parameter(self, name: str, path: str, person: Person) -> str:
        """Return a value of a parameter of a path or a query."""
        match name:
            case "post_id" if path.endswith("/vote"):
                return self.one_of(self.known.polls)
            case "draft_id":
                return self.one_of(self.known.drafts_of[person.id])
            case "ident" if "/uploads/" in path:
                return self.one_of(self.known.uploads_of[person.id])
            case "name":
                return self.one_of(self.known.tags, "tag1")
            case "post_id":
                return self.post(person)
            case "comment_id" | "parent":
                return self.one_of(self.known.comments)
            case "user_id":
                return self.user()
            case "username":
                return self.one_of(self.known.names, "nobody")
            case "client":
                return self.one_of(self.known.clients_of[person.id], "chrome")
            case "cursor":
                return self.one_of(self.known.cursors, "")
            case "size":
                return str(self.dice.randrange(1, 21))
            case "ids":
                return ",".join(self.user() for _ in range(self.dice.randrange(1, 6)))
            case "q":
                return self.one_of(self.known.names, "a")[: self.dice.randrange(1, 8)]
            case "sort":
                return self.dice.choice(("hot", "new"))
            case "max_time":
                return str(self.dice.randrange(10**12, 2 * 10**12))
        return self.dice.words(30)

    def new_name(self) -> str:
        """Return an unused username."""
        self.numbers += 1
        return f"z{secrets.token_hex(5)}{self.numbers}"[:16]

    def link(self, kind: str, person: Person) -> str:
        """Return the token of an e-mail, if this person got one."""
        found = links(person.site, person.email)[kind] if person.email else []
        return found[-1] if found else "x"


Make = Callable[[Values, str, Person], Any]
FIELDS: dict[str, Make] = {
    "content": lambda v, path, who: v.text(1000 if "/comments" in path else POST_MAX),
    "title": lambda v, path, who: v.text(100),
    "words": lambda v, path, who: v.dice.words(100),
    "bio": lambda v, path, who: v.dice.words(100),
    "alt": lambda v, path, who: v.dice.words(100),
    "nickname": lambda v, path, who: f"N{v.dice.randrange(10**6)}人"[:16],
    "username": lambda v, path, who: (
        v.new_name() if path.rstrip("/").endswith("register") else who.username
    ),
    "password": lambda v, path, who: who.password,
    "old_password": lambda v, path, who: who.password,
    "new_password": lambda v, path, who: secrets.token_hex(8),
    "client": lambda v, path, who: v.dice.choice(("ios", "linux", "other", "edge")),
    "device": lambda v, path, who: secrets.token_hex(8),
    "otp": lambda v, path, who: who.code() if who.secret else "",
    "email": lambda v, path, who: who.email or f"{who.username}@a.example",
    "token": lambda v, path, who: (
        v.link("recover" if "recover" in path else "email", who)
        if "introspect" not in path
        else who.access
    ),
    "refresh": lambda v, path, who: who.refresh,
    "avatar": lambda v, path, who: int(v.one_of(v.known.media_of[who.id], "0")) or None,
    "banner": lambda v, path, who: int(v.one_of(v.known.media_of[who.id], "0")) or None,
    "links": lambda v, path, who: [f"https://example.org/{v.dice.randrange(10**6)}"],
    "place": lambda v, path, who: v.dice.words(60),
    "pronouns": lambda v, path, who: v.dice.words(30),
    "likes_shown": lambda v, path, who: v.dice.choice((True, False)),
    "unfold_notes": lambda v, path, who: v.dice.choice((True, False, None)),
    "show_sensitive": lambda v, path, who: v.dice.choice((True, False, None)),
    "size": lambda v, path, who: v.dice.choice((5, 64, 5000, 10**6)),
    "images": lambda v, path, who: [],
    "parent": lambda v, path, who: None,
    "status": lambda v, path, who: v.dice.choice(("open", "closed", "featured", "open")),
    "until": lambda v, path, who: v.one_of(v.known.times, "2020-01-01T00:00:00.000Z"),
    "ids": lambda v, path, who: [v.one_of(v.known.notifications)],
    "kind": lambda v, path, who: "micro",
    "visibility": lambda v, path, who: v.dice.choice(("public", "followers")),
    "video_url": lambda v, path, who: "",
    "version": lambda v, path, who: v.dice.choice((1, 1, 1, 2)),
    "video": lambda v, path, who: None,
    "poll": lambda v, path, who: v.poll(),
    "choices": lambda v, path, who: [0],
    "publish_at": lambda v, path, who: None,
    "alts": lambda v, path, who: {},
    "language": lambda v, path, who: v.dice.choice(("en", "zh-hans")),
    "next": lambda v, path, who: "/",
}
