"""Requests with what people kept from before: an Idempotency-Key, or the address of a picture."""

from chaos.campaign.client import Client
from chaos.campaign.matrix.access import Matrix
from chaos.campaign.matrix.world import VIEWERS
from chaos.campaign.site.requests import Json, Request
from socialsite.tests.blocks.block_matrix import OUT, V1

# A repeat of this request gets the stored result, whose content may be forbidden by now.
REPEATED = "posts/{quote_id}/repost"
PICTURES = ("public", "public thumb", "private", "private thumb")
# Internal paths of files for nginx, which must not be reachable from outside.
WAYS_ROUND = ("/_uploads/", "/media/public/", "/media/../_uploads/", "/media/public/../")


class Kept:
    """Runs beside a matrix, whose viewers and counts it uses."""

    def __init__(self, matrix: Matrix) -> None:
        self.matrix, self.world = matrix, matrix.world

    def repeat(self) -> None:
        """Let viewers repeat a request by its Idempotency-Key; the result has text of Hidden's."""

        def work(client: Client, viewer: str) -> None:
            path = self.world.filled(f"/{V1}{REPEATED}", viewer)
            headers = {"Idempotency-Key": "once"}
            request = Request("POST", path, headers=headers, body=Json({"content": "own words"}))
            answer = self.matrix.send(client, viewer, request)
            self.matrix.look(client, viewer, request, answer)
            if self.matrix.state == "open" and self.world.marks["post"] not in answer.text:
                self.matrix.control(viewer, request, f"{answer.status}, lacks the post")

        self.matrix.each([name for name in VIEWERS if name not in ("guest", "banned")], work)

    def pictures(self) -> None:
        """Request the pictures by their addresses, as somebody who knows these."""
        asked = {name: self.world.pictures[name] for name in PICTURES}
        inside = asked["private"].removeprefix("/media/")
        asked |= {f"private, {way}": f"{way}{inside}" for way in WAYS_ROUND}

        def work(client: Client, viewer: str) -> None:
            for name, path in asked.items():
                if name not in PICTURES and not self.matrix.chosen():
                    continue
                request = Request("GET", path)
                answer = self.matrix.send(client, viewer, request)
                may = not name.startswith("private") or self.matrix.role(viewer) in (
                    "follower",
                    "hidden",
                )
                if self.matrix.state == "deleted" or name not in PICTURES:
                    may = False
                if answer.status == 200 and not may:
                    self.matrix.leak(viewer, request, f"shows the {name} picture")
                elif answer.status != 200 and may and self.matrix.role(viewer) not in OUT:
                    self.matrix.control(viewer, request, f"{answer.status}: the {name} picture")

        self.matrix.each((*VIEWERS, "hidden"), work)
