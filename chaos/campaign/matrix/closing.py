"""Closed and featured comments below a post of Hidden's: nobody can bypass the author's setting.

Nobody can add a comment to a closed post in any way. If comments are featured, an unpinned comment
is shown only to its writer and to those who may pin it. After reopening, everything is as before.
"""

from chaos.campaign.client import Client
from chaos.campaign.matrix.access import Matrix
from chaos.campaign.matrix.world import OWNERS, VIEWERS
from chaos.campaign.site.people import V1
from chaos.campaign.site.requests import Answer, Form, Json, Request
from socialsite.tests.blocks.block_matrix import APART, OUT

UNPINNED = "zzunpinned"


class Closing:
    """Runs beside a matrix, whose viewers and counts it uses."""

    def __init__(self, matrix: Matrix) -> None:
        self.matrix, self.world = matrix, matrix.world
        self.post = self.world.names["post_id"]
        self.comment = self.world._comment(self.world.third, self.post, UNPINNED)

    def run(self) -> None:
        """Close, feature and reopen the comments, and let everybody try at each step."""
        before = self.matrix.state
        everybody = [*VIEWERS, *OWNERS]
        for status in ("closed", "featured", "open"):
            path = f"posts/{self.post}/comment-settings"
            self.world._do(self.world.hidden, "PATCH", path, {"status": status})
            self.matrix.state = status if status != "open" else "opened"
            self.matrix.each(everybody, {"featured": self._read}.get(status, self._write))
        self.matrix.state = before

    def _is_apart(self, viewer: str) -> bool:
        return self.matrix.role(viewer) in (*APART, *OUT)

    def _write(self, client: Client, viewer: str) -> None:
        """Comment over the API, in reply to a comment, and by the form of the page."""
        path, said = f"{V1}posts/{self.post}/comments", {"content": "may I?"}
        tried = (
            Request("POST", path, body=Json(said)),
            Request("POST", path, body=Json(said | {"parent": self.comment})),
            Request("POST", f"/posts/{self.post}/comments", body=Form(tuple(said.items()))),
        )
        for request in tried:
            answer = self.matrix.send(client, viewer, request)
            if self.matrix.state == "closed" or self._is_apart(viewer):
                if self._is_taken(answer):
                    self.matrix.leak(viewer, request, f"{answer.status}: a comment was added")
            elif not self._is_taken(answer):
                self.matrix.control(viewer, request, f"{answer.status}: no comment was added")

    @staticmethod
    def _is_taken(answer: Answer) -> bool:
        """Return True if a comment was added: a page then redirects to it, the API answers 201."""
        return answer.accepted and answer.status != 200

    def _read(self, client: Client, viewer: str) -> None:
        """Read the featured comments of a post, where a comment of Third's is not pinned."""
        for path in (f"{V1}posts/{self.post}/comments", f"/posts/{self.post}"):
            request = Request("GET", path)
            said = self.matrix.send(client, viewer, request).text
            if viewer == "hidden":
                continue  # a viewer who may pin it has to see it
            if viewer == "third" and UNPINNED not in said:
                self.matrix.control(viewer, request, "one's own comment is not shown")
            elif viewer != "third" and UNPINNED in said:
                self.matrix.leak(viewer, request, "shows a comment that was not pinned")
