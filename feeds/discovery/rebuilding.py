"""Compare what is stored for each post with its words, and repair it, while the site runs."""

from collections.abc import Callable
from typing import NamedTuple

from tqdm import tqdm

from feeds.models import Post

# Posts that are read at a time.
STEP = 500


class Rebuilt(NamedTuple):
    """Counts of a rebuild: posts that it read, and posts that it repaired."""

    posts: int
    repaired: int


def all_posts(repair: Callable[[int], bool]) -> Rebuilt:
    """Repair all posts by their ids, with a progress bar on a terminal; may be stopped any time.

    `repair` returns whether the post was wrong.
    """
    posts = repaired = after = 0
    ids = Post.objects.order_by("pk").values_list("pk", flat=True)
    with tqdm(total=Post.objects.count(), unit=" posts", disable=None, leave=False) as bar:
        while part := list(ids.filter(pk__gt=after)[:STEP]):
            repaired += sum(map(repair, part))
            posts, after = posts + len(part), part[-1]
            bar.update(len(part))
    return Rebuilt(posts, repaired)
