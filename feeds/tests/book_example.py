"""The example of a home feed in the book: its posts, and the pages that it must have."""

from accounts.models import User
from feeds.models import AuthorHead, Mode, Post, PostContent

OFFSET = 10**18  # the ids of the example are short; ours have 19 digits
OUTBOX_200 = [
    (32850, 1689089522),
    (16020, 1688986368),
    (19732, 1688905999),
    (61186, 1688718647),
    (80723, 1688616936),
]
OUTBOX_211 = [
    (50015, 1689087139),
    (71658, 1688986368),
    (18253, 1688975221),
    (73798, 1688803287),
    (92090, 1688617305),
    (82553, 1685305893),
]
INBOX = [
    (25218, 1689087991),
    (38376, 1689087139),
    (12572, 1688986368),
    (75256, 1688803287),
    (81709, 1688718647),
    (13320, 1688617305),
]
PAGES = [
    [32850, 25218, 50015],
    [38376, 71658, 16020],
    [12572, 18253, 19732],
    [75256, 73798, 81709],
    [61186, 92090, 13320],
    [80723, 82553],
    [],
]


def place(author: User, ident: int, seconds: int, mode: Mode) -> Post:
    """Create a post at its position in the book's example."""
    post = Post.objects.create(id=OFFSET + ident, author=author, position=seconds * 1000, mode=mode)
    PostContent.objects.create(post=post, content=str(ident))
    head, _ = AuthorHead.objects.get_or_create(author=author)
    head.last_position = max(head.last_position, post.position)
    if mode != Mode.ALL:
        head.last_pulled_position = max(head.last_pulled_position, post.position)
    head.save()
    return post
