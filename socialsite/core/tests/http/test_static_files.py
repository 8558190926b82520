"""Scripts import each other by names with hashes, so that browsers may cache them forever."""

import posixpath
import re
from pathlib import Path

import pytest
from django.conf import settings
from django.contrib.staticfiles.storage import staticfiles_storage

from socialsite.core.http.static_files import HashedStaticFilesStorage

pytestmark = pytest.mark.full


def test_collected_scripts_import_the_hashed_names_of_collected_scripts() -> None:
    assert isinstance(staticfiles_storage, HashedStaticFilesStorage)
    collected = staticfiles_storage.hashed_files
    scripts = {name: stored for name, stored in collected.items() if name.startswith("js/")}
    imported = set()
    for name, stored in scripts.items():
        text = (Path(settings.STATIC_ROOT) / stored).read_text()
        for address in re.findall(r'^import [^"]*"([^"]+)"', text, re.MULTILINE):
            target = posixpath.normpath(posixpath.join(posixpath.dirname(name), address))
            assert target in scripts.values(), (name, address)
            imported.add(target)
    folder = settings.BASE_DIR / "static"
    libraries = {str(path.relative_to(folder)) for path in (folder / "js" / "lib").iterdir()}
    assert imported >= {scripts[name] for name in libraries}


def test_the_name_of_a_script_changes_with_what_it_imports(tmp_path: Path) -> None:
    storage = HashedStaticFilesStorage(location=tmp_path, base_url="/static/")
    stored = []
    for words in ("one", "other"):
        (tmp_path / "js" / "lib").mkdir(parents=True, exist_ok=True)
        (tmp_path / "js" / "page.js").write_text('import { say } from "./lib/words.js";\nsay();\n')
        (tmp_path / "js" / "lib" / "words.js").write_text(f'export const say = "{words}";\n')
        names = {name: (storage, name) for name in ("js/page.js", "js/lib/words.js")}
        for _name, _stored, processed in storage.post_process(names):
            assert not isinstance(processed, Exception)
        stored.append(storage.hashed_files["js/page.js"])
    assert stored[0] != stored[1]
