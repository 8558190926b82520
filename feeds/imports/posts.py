"""The kinds of imports of posts."""

from feeds.imports import making, mastodon, own
from socialsite.core.imports.kinds import Kind

POSTS = Kind(
    making.rows, making.make, making.undo, prepare=making.prepared(own.read), staged=making.staged
)
MASTODON = Kind(
    making.rows,
    making.make,
    making.undo,
    prepare=making.prepared(mastodon.read),
    staged=making.staged,
)
