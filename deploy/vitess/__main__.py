"""`python -m deploy.vitess` writes `vschema.json` and `tables.sql` beside this module."""

import json
import os
from pathlib import Path

import django

FOLDER = Path(__file__).parent


def files() -> dict[Path, str]:
    """Return the content of the generated files."""
    from deploy.vitess import vschema

    return {
        FOLDER / "vschema.json": json.dumps(vschema.vschema(), indent=2) + "\n",
        FOLDER / "tables.sql": vschema.tables(),
    }


def main() -> None:
    """Write the files."""
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "socialsite.settings")
    django.setup()
    for path, text in files().items():
        path.write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main()
