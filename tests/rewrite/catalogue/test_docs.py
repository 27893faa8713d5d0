"""The manual lists what the catalogue holds."""

from pathlib import Path

from optimas_lsp.rewrite.catalogue import entries

DOCS = Path(__file__).parents[3] / "docs" / "catalogue.md"


def test_every_entry_stands_in_the_manual_as_its_data_file_has_it() -> None:
    text = DOCS.read_text("utf-8")
    for entry in entries():
        assert f"| `{entry.name}` | {entry.title} | {entry.precondition} | {entry.exactness} |" in text


def test_every_entry_finds_and_what_it_may_follow_exists() -> None:
    names = {entry.name for entry in entries()}
    assert len(names) >= 18
    for entry in entries():
        assert callable(entry.find)
        assert set(entry.after) <= names
        assert entry.rules
        assert entry.references
