"""Checks the form of a commit message: `app: Imperative sentence.`

`python -m deploy.dev.commit_message FILE`, run by git as a hook, exits with 1 and prints the
mistakes.
"""

import re
import sys
from collections.abc import Sequence
from pathlib import Path

SUBJECT_MAX = 72
FORM = re.compile(r"[a-z][\w./-]*(, [a-z][\w./-]*)*: [A-Z].*[^.]\.")
# Messages that git writes by itself.
OF_GIT = ("Merge ", "Revert ", "fixup! ", "squash! ", "amend! ")
# git puts text below this line that is no part of the message, such as the diff of `commit -v`.
SCISSORS = "# ------------------------ >8 ------------------------"


def mistakes(message: str) -> list[str]:
    """Return the mistakes of a message, one sentence each; none when it is valid."""
    kept = message.split(SCISSORS)[0]
    lines = [line for line in kept.strip().splitlines() if not line.startswith("#")]
    subject = lines[0] if lines else ""
    if subject.startswith(OF_GIT):
        return []
    found = []
    if not FORM.fullmatch(subject):
        found.append("The first line must have the form `app: Imperative sentence.`")
    if len(subject) > SUBJECT_MAX:
        found.append(f"The first line has {len(subject)} characters, at most {SUBJECT_MAX}.")
    if len(lines) > 1 and lines[1].strip():
        found.append("The second line must be empty.")
    return found


def main(argv: Sequence[str]) -> int:
    """Check the message in a file."""
    found = mistakes(Path(argv[0]).read_text())
    for mistake in found:
        print(mistake, file=sys.stderr)
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
