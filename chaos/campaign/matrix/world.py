"""The people of the access matrix, created over HTTP: Hidden, who did everything, and ten viewers.

`socialsite/tests/blocks/block_matrix.py` says what each viewer may see; here they are real
accounts. Marks are texts, names, ids and pictures by which Hidden's objects are recognised
anywhere.
"""

import io
import time
from collections.abc import Callable

from lxml import html
from PIL import Image

from chaos.campaign.site.people import Guest, Person, make_people, staff_named
from chaos.campaign.site.requests import Answer, Form, Request, Upload, Wire
from chaos.campaign.site.sites import Site, Staff
from socialsite.core.tests.media.videos import samples
from socialsite.tests.blocks.block_world import NOTHING, OF_HIDDEN

# The viewers, and their roles in the table after the blocks and the ban.
VIEWERS = {
    "guest": "anonymous",
    "stranger": "stranger",
    "follower": "follower",
    "friend": "follower",
    "blocked": "blocked",
    "blocker": "blocker",
    "both": "mutual",
    "banned": "banned",
    "moderator": "staff",
    "admin": "staff",
}
# Their roles before: nobody is blocked or banned yet.
BEFORE = {
    **VIEWERS,
    "blocked": "follower",
    "both": "follower",
    "banned": "follower",
    "blocker": "stranger",
}
# They follow Hidden before the blocks; Hidden's post for people whom it names is for them.
FOLLOWING = ("follower", "friend", "blocked", "both", "banned")
OWNERS = {"hidden": "hidden", "third": "third"}
STAFF = {"moderator9": "moderator", "admin9": "admin"}
WAIT_SECONDS = 60
# The names that `World.filled` puts into the addresses of the tables.
FILLED = {
    *("hidden", "username", "third", "third_name", "third_post", "third_comment", "mine", "me"),
    *("quote_id", *OF_HIDDEN),
}


def staff() -> list[Staff]:
    """Return the staff among the viewers, who must exist before the site starts."""
    return staff_named(STAFF)


class World:
    """People who know each other, and their content; `fill` puts it into addresses."""

    def __init__(self, site: Site, wire: Wire) -> None:
        self.site, self.wire = site, wire
        names = {name: f"{name}9" for name in VIEWERS if name != "guest"}
        names |= {"hidden": "xanadu77", "gone": "vulgar88", "third": "thirdone9"}
        made = make_people(site, wire, *names.values())
        self.people = {name: made[username] for name, username in names.items()}
        self.people["guest"] = Guest(site)
        self.hidden, self.gone = self.people["hidden"], self.people["gone"]
        self.third = self.people["third"]
        self.marks: dict[str, str] = {}
        self.never: list[str] = []
        self.of_gone: list[str] = []
        self.mine: dict[str, str] = {}
        self.pictures: dict[str, str] = {}
        self.names: dict[str, str] = {
            "hidden": self.hidden.id,
            "username": self.hidden.username,
            "third": self.third.id,
            "third_name": self.third.username,
        }
        self._meet()
        self._write()
        if missing := FILLED - {*self.names, "mine", "me"}:
            raise RuntimeError(f"nobody made {missing}")

    # --- creation
    # -----------------------------------------------------------------------------------
    def _do(self, person: Person, method: str, path: str, data: object = None) -> dict[str, str]:
        return person.must(self.wire, method, path, data) or {}

    def _follow(self, person: Person, other: Person) -> None:
        self._do(person, "POST", f"users/{other.id}/follow")

    def _meet(self) -> None:
        for person in (self.hidden, self.gone):
            self._follow(self.third, person)
            self._follow(person, self.third)
        for name, viewer in self.viewers():
            self._follow(viewer, self.third)
            self._follow(self.gone, viewer)
            # A block without a follow to end, and a follower who is not followed back.
            if name not in ("blocker", "follower"):
                self._follow(self.hidden, viewer)
            if name in FOLLOWING:
                self._follow(viewer, self.hidden)
        self._follow(self.people["stranger"], self.gone)
        # Two of whom the stranger follows follow Hidden: so Hidden is suggested first.
        self._follow(self.people["stranger"], self.people["friend"])
        nickname = "Xanthippe"
        self._do(self.hidden, "PATCH", "users/me", {"nickname": nickname, "bio": "zqbio"})
        self.marks = {
            "username": self.hidden.username,
            "nickname": nickname,
            "hidden": self.hidden.id,
            "bio": "zqbio",
        }
        self.of_gone = [self.gone.username, self.gone.nickname, self.gone.id]
        for person in (self.hidden, self.gone, self.third):
            self._recommend(person)
            self._do(person, "PATCH", "users/me", {"likes_shown": True})
        for name, viewer in self.viewers():
            self.mine[name] = self._post(viewer, "one's own")

    def _post(self, person: Person, content: str, **more: object) -> str:
        return self._do(person, "POST", "posts", {"content": content, **more})["id"]

    def _recommend(self, person: Person) -> None:
        """Let an admin recommend a person, by the form of the admin."""
        path = "/admin/feeds/recommendedauthor/add/"
        self.submit(self.people["admin"], path, {"author": person.id})

    def submit(self, person: Person, path: str, values: dict[str, str]) -> Answer:
        """Fill in and send the form of a page; raises RuntimeError unless it redirects."""
        page = person.page(self.wire, "GET", path)
        forms = [f for f in html.fromstring(page.text).forms if f.method == "POST"]
        found = next(f for f in forms if set(values) <= set(f.fields))
        fields = dict(found.form_values()) | values
        answer = person.page(self.wire, "POST", path, *fields.items())
        if not answer.accepted or answer.status == 200:
            raise RuntimeError(f"{person.who}: {path} {values}: {answer.status}")
        return answer

    def upload(self, person: Person, colour: tuple[int, int, int]) -> dict[str, str]:
        """Upload a picture of one colour; return it as the API does."""
        out = io.BytesIO()
        Image.new("RGB", (64, 48), colour).save(out, "PNG")
        return self._upload(person, "media", Upload("p.png", out.getvalue()), ("alt", "zqalt"))

    def _upload(
        self, person: Person, path: str, file: Upload, *more: tuple[str, str]
    ) -> dict[str, str]:
        request = Request("POST", f"/api/v1/{path}", body=Form((("file", file), *more)))
        answer = self.wire.send(request, person.bearer())
        if answer.status != 201:
            raise RuntimeError(f"upload: {answer.status} {answer.text[:300]}")
        return answer.json()

    def _write(self) -> None:
        third = self._post(self.third, "of somebody else #matter")
        answered = self._comment(self.third, third, "what do you think?")
        self.names |= {"third_post": third, "third_comment": answered}
        for person, mark in ((self.hidden, "zq"), (self.gone, "vq")):
            ids: dict[str, str] = {}
            kinds = (
                *("post", "former", "private", "few", "alone", "film", "private_film"),
                *("comment", "spoken", "reply", "draft", "option"),
            )
            texts = {kind: f"{mark}{kind}z" for kind in kinds}  # none is part of another
            if person is self.hidden:
                self._picture("public", (200, 30, 30))
                self._picture("private", (30, 30, 200))
            poll = {"options": [texts["option"], "no"], "lasts": 86400}
            with_poll = {**self._with("public", person), "poll": poll}
            ids["post"] = self._post(person, texts["former"], **with_poll)
            ids["comment"] = self._comment(person, third, texts["spoken"])
            self._edit("post", person, ids["post"], f"{texts['post']} #matter")
            self._edit("comment", person, ids["comment"], texts["comment"])
            ids["draft"] = self.draft(person, texts["draft"])
            ids["reply"] = self._comment(person, third, texts["reply"], answered)
            ids["repost"] = self._do(person, "POST", f"posts/{third}/repost", {})["id"]
            look = {"content": "look at this"}
            quote = self._do(self.third, "POST", f"posts/{ids['post']}/repost", look)["id"]
            self._do(person, "PUT", f"posts/{third}/like")
            self._do(person, "PUT", f"comments/{answered}/like")
            self._do(self.third, "PUT", f"posts/{ids['post']}/like")
            self._do(self.third, "PUT", f"comments/{ids['comment']}/like")
            self._comment(self.third, third, "me too", ids["comment"])
            everybody = [viewer.username for _, viewer in self.viewers()]
            for number in range(0, len(everybody), 3):
                called = " @".join(everybody[number : number + 3])
                ids[f"mention{number}"] = self._post(person, f"{mark}mention @{called}")
            for name, viewer in self.viewers():
                self._do(viewer, "PUT", "tags/matter/follow")
                self._do(person, "PUT", f"posts/{self.mine[name]}/like")
                self._comment(person, self.mine[name], f"{texts['comment']} too")
                self._do(viewer, "PUT", f"posts/{ids['post']}/bookmark")
                self._do(viewer, "PUT", f"posts/{quote}/bookmark")
                self._do(viewer, "PUT", f"posts/{ids['post']}/like")
                self._comment(viewer, ids["post"], "me too")
            more = {**self._with("private", person), "poll": poll}
            self._do(person, "PUT", f"posts/{ids['post']}/vote", {"choices": [0]})
            private = f"#{texts['private']} #matter"
            ids["private"] = self._post(person, private, visibility="followers", **more)
            self._write_to_few(person, ids, texts)
            self._report(person, ids)
            texts["mention"] = f"{mark}mention"
            if person is self.hidden:
                self.marks |= texts
                self.marks |= {f"{kind}_id": ident for kind, ident in ids.items()}
                self.marks["private_picture"] = self.pictures["private"].rpartition("/")[2][:32]
                self.names |= {f"{kind}_id": ident for kind, ident in ids.items()}
                self.names["quote_id"] = quote
            else:
                self.of_gone += [*texts.values(), *ids.values()]

    def _write_to_few(self, person: Person, ids: dict[str, str], texts: dict[str, str]) -> None:
        """Publish a post for people whom it names, one for nobody else, and two videos."""
        called = " @".join(self.people[name].username for name in FOLLOWING)
        few, alone = f"{texts['few']} #matter @{called}", f"{texts['alone']} #matter"
        ids["few"] = self._post(person, few, visibility="mentioned")
        ids["alone"] = self._post(person, alone, visibility="self")
        for name, visibility in (("film", "public"), ("private_film", "followers")):
            upload = Upload("f.mp4", samples.video(), "video/mp4")
            video = self._upload(person, "media/videos", upload)["id"]
            more = {"kind": "video", "title": texts[name], "visibility": visibility}
            ids[name] = self._post(person, "", video=video, **more)

    def _comment(self, person: Person, post: str, text: str, parent: str = "") -> str:
        data = {"content": text} | ({"parent": parent} if parent else {})
        return self._do(person, "POST", f"posts/{post}/comments", data)["id"]

    def draft(self, person: Person, text: str) -> str:
        """Store a draft of a person; return its id."""
        return self._do(person, "POST", "drafts", {"content": text})["id"]

    def _edit(self, kind: str, person: Person, ident: str, text: str) -> str:
        self._do(person, "PATCH", f"{kind}s/{ident}", {"version": 1, "content": text})
        return ident

    def _picture(self, name: str, colour: tuple[int, int, int]) -> None:
        found = self.upload(self.hidden, colour)
        self.pictures |= {
            name: found["url"],
            f"{name} thumb": found["thumb"],
            f"{name} id": found["id"],
        }

    def _with(self, name: str, person: Person) -> dict[str, object]:
        return {"images": [int(self.pictures[f"{name} id"])]} if person is self.hidden else {}

    def _report(self, person: Person, ids: dict[str, str]) -> None:
        """Report each kind of object of a person to staff."""
        self.marks |= {"secret": "xqsecret"}
        for kind, ident in (
            ("post", ids["post"]),
            ("post", ids["private"]),
            ("comment", ids["comment"]),
            ("user", person.id),
        ):
            report = {"type": kind, "id": ident, "reason": "spam", "words": self.marks["secret"]}
            self._do(self.third, "POST", "reports", report)

    def settle(self) -> None:
        """Wait until everything is delivered to the followers."""
        friend = self.people["friend"]
        fresh = self.names["private_id"]

        def delivered() -> bool:
            page = friend.must(self.wire, "GET", "feed?size=20")["items"]
            notices = friend.must(self.wire, "GET", "notifications?size=100")["items"]
            return any(item["id"] == fresh for item in page) and len(notices) >= 4

        eventually(delivered)
        time.sleep(3)  # folded notifications come a little later

    # --- changes
    # ------------------------------------------------------------------------------------
    def block(self, wire: Wire | None = None) -> None:
        """Create the blocks; again after a request that may have lifted one."""
        people = self.people
        for person, other in (
            (self.hidden, people["blocked"]),
            (people["blocker"], self.hidden),
            (self.hidden, people["both"]),
            (people["both"], self.hidden),
        ):
            person.must(wire or self.wire, "POST", f"users/{other.id}/block")

    def reunite(self, wire: Wire, name: str) -> None:
        """Restore the relation between a viewer and Hidden after a block or unfollow."""
        viewer = self.people[name]
        viewer.must(wire, "DELETE", f"users/{self.hidden.id}/block")
        if name in FOLLOWING:
            viewer.must(wire, "POST", f"users/{self.hidden.id}/follow")
        else:
            viewer.call(wire, "DELETE", f"users/{self.hidden.id}/follow")
        if name not in ("blocker", "follower"):
            self.hidden.must(wire, "POST", f"users/{viewer.id}/follow")

    def ban(self) -> None:
        """Let the admin ban two people, by the pages of the admin."""
        for name in ("gone", "banned"):
            self._staff_act("ban", name)
            answer = self.people[name].call(self.wire, "GET", "users/me")
            if answer.status != 401:
                raise RuntimeError(f"{name} was not banned: {answer.status}")
        self.never = self.of_gone

    def _staff_act(self, act: str, name: str) -> None:
        """Let the admin act on a person, by the pages of the admin."""
        path, admin = "/admin/accounts/user/", self.people["admin"]
        chosen = (("action", act), ("_selected_action", self.people[name].id))
        page = admin.page(self.wire, "POST", path, *chosen)
        forms = [f for f in html.fromstring(page.text).forms if "_selected_action" in f.fields]
        answer = admin.page(self.wire, "POST", path, *forms[0].form_values())
        if answer.status != 302:
            raise RuntimeError(f"{act} of {name}: {answer.status}")

    def close(self) -> None:
        """Lift one of the bans, and let that person close the account: nobody sees them either."""
        self._staff_act("unban", "gone")
        if not self.gone.sign_in(self.wire):
            raise RuntimeError("nobody can log in after a ban")
        answer = self.gone.call(self.wire, "DELETE", "users/me", {"password": self.gone.password})
        if answer.status != 202:
            raise RuntimeError(f"an account was not closed: {answer.status} {answer.text[:300]}")

    def delete(self) -> None:
        """Let Hidden delete the posts and the comment."""
        for path in ("posts/{post_id}", "posts/{private_id}", "comments/{comment_id}"):
            self._do(self.hidden, "DELETE", path.format(**self.names))

        def files_are_gone() -> bool:
            addresses = [self.pictures[name] for name in ("public", "private")]
            return all(self.hidden.page(self.wire, "GET", a).status != 200 for a in addresses)

        eventually(files_are_gone)

    # --- reading --------------------------------------------------------------------------------
    def viewers(self) -> list[tuple[str, Person]]:
        """Return the viewers that have an account."""
        return [(name, self.people[name]) for name in VIEWERS if name != "guest"]

    def filled(self, text: str, viewer: str, nothing: bool = False) -> str:
        """Put ids into a path or a value; with `nothing`, ids of Hidden's that do not exist."""
        names = {**self.names, "mine": self.mine.get(viewer, self.names["third_post"])}
        names["me"] = self.people[viewer].id or self.third.id
        if nothing:
            for name in ("hidden", *OF_HIDDEN):
                names[name] = str(NOTHING)
            names["username"] = "nobody99"
        return text.format(**names)


def eventually(check: Callable[[], bool]) -> None:
    """Wait until a condition holds; raises RuntimeError on timeout."""
    deadline = time.monotonic() + WAIT_SECONDS
    while not check():
        if time.monotonic() > deadline:
            raise RuntimeError(f"{check.__qualname__} did not come true in {WAIT_SECONDS} s")
        time.sleep(0.3)
