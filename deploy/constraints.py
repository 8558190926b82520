"""Print `requirements/constraints.txt`: the exact version of every package that others pull in.

Run it with an up-to-date .venv after changing a requirement:
`.venv/bin/python -m deploy.constraints > constraints.new`, read it, move it to `requirements/`.
Direct requirements are left out, so each version stands in one place.
"""

import re
from importlib.metadata import distributions
from pathlib import Path

REQUIREMENT_FILES = ("requirements/base.txt", "requirements.txt", "requirements/dev.txt")
HEADER = """\
# Versions of packages that our requirements pull in; printed by `python -m deploy.constraints`.
# With them an installation of next year is the one that was tested, and pip resolves faster.
"""


def normal(name: str) -> str:
    """Return a package name as indexes compare it."""
    return re.sub(r"[-_.]+", "-", name).lower()


def direct(root: Path = Path()) -> set[str]:
    """Return the packages that the requirement files name."""
    names = set()
    for file in REQUIREMENT_FILES:
        for line in (root / file).read_text().splitlines():
            if match := re.match(r"[A-Za-z0-9._-]+(?=[\[=])", line):
                names.add(normal(match[0]))
    return names


def indirect(root: Path = Path()) -> dict[str, str]:
    """Return name and version of every other installed package, pip itself included."""
    named = direct(root)
    found = {normal(dist.name): dist.version for dist in distributions()}
    return {name: version for name, version in sorted(found.items()) if name not in named}


if __name__ == "__main__":
    pins = indirect()
    pins.pop("setuptools", None)  # comes with an old venv; nothing here needs it
    print(HEADER + "\n".join(f"{name}=={version}" for name, version in pins.items()))
