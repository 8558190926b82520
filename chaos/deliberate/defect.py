"""A deliberate defect: one text of one file that is replaced by another for a while."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path


class MisplacedDefect(Exception):
    """The text to be replaced does not occur exactly once, so the table must be corrected."""


@dataclass(frozen=True, slots=True)
class Defect:
    """A mistake: the file, the text that is replaced, and the tests that must fail."""

    name: str
    file: str
    old: str
    new: str
    tests: tuple[str, ...]

    def check(self, tree: Path) -> str:
        """Return the text of the file; raises MisplacedDefect."""
        text = (tree / self.file).read_text()
        if (count := text.count(self.old)) != 1:
            raise MisplacedDefect(
                f"{self.name}: {self.file} must have this text once, but has it {count} times:"
                f"\n{self.old}"
            )
        return text

    @contextmanager
    def put_into(self, tree: Path) -> Iterator[None]:
        """Replace the text in a tree, and put it back at the end. Raises MisplacedDefect."""
        text = self.check(tree)
        path = tree / self.file
        path.write_text(text.replace(self.old, self.new))
        try:
            yield
        finally:
            path.write_text(text)
