"""The generated pages are those the code writes."""

from __future__ import annotations

from pathlib import Path

from typer.testing import CliRunner

from optimas_lsp.cli.app import app
from optimas_lsp.cli.docs import settings_page
from optimas_lsp.config import known_keys

DOCS = Path(__file__).resolve().parents[2] / "docs"


def test_committed_pages_are_up_to_date() -> None:
    result = CliRunner().invoke(app, ["docs", "--check", "--folder", str(DOCS)])
    assert result.exit_code == 0, result.stderr


def test_every_setting_is_on_the_page() -> None:
    page = settings_page()
    assert all(f"`{key}`" in page for key in known_keys())
