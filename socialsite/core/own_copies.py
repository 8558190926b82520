"""What this machine still keeps of uploads in a bucket whose rows are gone.

Workers copy sources of videos and files to import from the bucket, and write archives before they
go there. A worker that is killed leaves its file, and nobody else knows of it. So each process that
reads the schedule looks at its own machine (`socialsite.tasks`).
"""

import logging
from collections.abc import Callable
from typing import NamedTuple

from socialsite.core.exports import jobs as exports
from socialsite.core.imports import files as imports
from socialsite.core.media.buckets import files as buckets
from socialsite.core.media.videos import sources
from socialsite.core.models import Export, Import, Video, VideoUpload

logger = logging.getLogger(__name__)


class _Place(NamedTuple):
    """A folder of this machine: the names in it, which of them have a row, and their removal."""

    names: Callable[[], set[str]]
    known: Callable[[set[str]], set[str]]
    remove: Callable[[str], None]


def _sources(names: set[str]) -> set[str]:
    rows = (model.objects.filter(source__in=names) for model in (Video, VideoUpload))
    return {name for one in rows for name in one.values_list("source", flat=True)}


def _exports(names: set[str]) -> set[str]:
    return {*Export.objects.filter(name__in=names).values_list("name", flat=True)}


def _imports(names: set[str]) -> set[str]:
    return {*Import.objects.filter(name__in=names).values_list("name", flat=True)}


_PLACES = (
    _Place(sources.own_names, _sources, sources.remove_own),
    _Place(exports.own_names, _exports, exports.remove_own),
    _Place(imports.own_names, _imports, imports.remove_own),
)


def clear() -> int:
    """Remove the files without a row; return how many uploads, archives and imports they were.

    Without a bucket it does nothing: then a file is there before its row.
    """
    if not buckets.is_used():
        return 0
    removed = 0
    for place in _PLACES:
        names = place.names()
        for name in names - place.known(names):
            place.remove(name)
            removed += 1
    if removed:
        logger.info("removed files of %d uploads whose rows are gone", removed)
    return removed
