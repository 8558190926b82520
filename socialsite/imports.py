"""Imports of a person's own data: all of their kinds."""

from collections.abc import Mapping

import relations.imports
from feeds.imports import posts
from socialsite.core.imports.kinds import Kind
from socialsite.core.models import Import

KINDS: Mapping[str, Kind] = {
    Import.Kind.FOLLOWS.value: relations.imports.FOLLOWS,
    Import.Kind.BLOCKS.value: relations.imports.BLOCKS,
    Import.Kind.POSTS.value: posts.POSTS,
    Import.Kind.MASTODON.value: posts.MASTODON,
}
