"""A corpus that grows: the shipped sentences over and over, each time under new names."""

from __future__ import annotations

from importlib.resources import files
from itertools import cycle
from pathlib import Path


class GrownCorpus:
    """A CoNLL-U file with all annotations of the shipped corpus that gets longer and longer."""

    def __init__(self, path: Path) -> None:
        self.path, self.n_sentences = path, 0
        path.write_text("", encoding="utf-8")
        shipped = files("headscope.corpora.shipped")
        texts = [
            entry.read_text(encoding="utf-8")
            for entry in sorted(shipped.iterdir(), key=lambda e: e.name)
            if entry.name.endswith(".conllu")
        ]
        blocks = [block for text in texts for block in text.strip().split("\n\n")]
        self._blocks = cycle(blocks)

    def grow(self, n_sentences: int) -> None:
        """Put more sentences at the end."""
        with self.path.open("a", encoding="utf-8") as file:
            for _ in range(n_sentences):
                self.n_sentences += 1
                lines = next(self._blocks).split("\n")
                name = f"# sent_id = s{self.n_sentences}"
                renamed = [name if line.startswith("# sent_id") else line for line in lines]
                file.write("\n".join(renamed) + "\n\n")
