"""Static files under names with hashes of their contents, which browsers may cache forever."""

from django.contrib.staticfiles.storage import ManifestStaticFilesStorage

# An import in `static/js`; Django's own pattern for all scripts would also change
# those of other packages.
_IMPORT = r'(?m)^(?P<matched>import (?P<names>[^"\n]*)"(?P<url>\.{1,2}/[^"\n]+)";)$'


class HashedStaticFilesStorage(ManifestStaticFilesStorage):
    """Writes the names with hashes into the imports of the site's scripts too.

    A module that another one imports is then cached like a script of a page, and a page never gets
    a module of another version.
    """

    patterns = (
        *ManifestStaticFilesStorage.patterns,
        ("js/*.js", ((_IMPORT, 'import %(names)s"%(url)s";'),)),
    )
    # A module gets its name after all that it imports; each pass does at least one step of a chain.
    max_post_process_passes = 10
