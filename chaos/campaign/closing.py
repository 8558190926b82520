"""Comments below a post of Hidden's, closed and featured: nobody goes round what its author said.

Nobody adds a comment to a closed post, by any way. Of a featured one nobody but its writer, and
whoever may pin it, is shown a comment that is not pinned. Opened again, everything is as it was.
"""

from chaos.campaign.client import Client
from chaos.campaign.matrix import Matrix
from chaos.campaign.people import V1
from chaos.campaign.wire import Answer, Form, Json, Request
from chaos.campaign.world import OWNERS, VIEWERS
from socialsite.tests.block_matrix import APART, OUT

UNPINNED = "zzunpinned"


class Closing:
    """Goes with a matrix, whose viewers and counts it uses."""

    def __init__(self, matrix: Matrix) -> None:
        self.matrix, self.world = matrix, matrix.world
        self.post = self.world.names["post_id"]
        self.comment = self.world._comment(self.world.third, self.post, UNPINNED)

    def run(self) -> None:
        """Close, feature and open the comments again, and let everybody try at each step."""
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
        """Comment over the API, in answer to a comment, and by the form of the page."""
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
        """True when a comment was added: a page answers so by leading to it, the API with 201."""
        return answer.accepted and answer.status != 200

    def _read(self, client: Client, viewer: str) -> None:
        """Read the comments of a featured post, where a comment of Third's is not pinned."""
        for path in (f"{V1}posts/{self.post}/comments", f"/posts/{self.post}"):
            request = Request("GET", path)
            said = self.matrix.send(client, viewer, request).text
            if viewer == "hidden":
                continue  # whoever may pin it has to see it
            if viewer == "third" and UNPINNED not in said:
                self.matrix.control(viewer, request, "one's own comment is not shown")
            elif viewer != "third" and UNPINNED in said:
                self.matrix.leak(viewer, request, "shows a comment that was not pinned")
