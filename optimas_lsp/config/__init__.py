"""Every setting, once (``settings.py``), and how settings are read (``reading.py``)."""

from __future__ import annotations

from optimas_lsp.config.reading import FILE_NAME, PROGRAM_TABLES, from_toml, known_keys, load_toml, parse
from optimas_lsp.config.settings import (
    AllowanceName,
    BackendName,
    CodeLens,
    Corpus,
    Diagnostics,
    ExecutorName,
    Guard,
    HotKernels,
    InlayHints,
    Jobs,
    Lines,
    PathMap,
    Profiles,
    Prove,
    Rewrite,
    Search,
    Section,
    Settings,
)

__all__ = [
    "FILE_NAME",
    "PROGRAM_TABLES",
    "AllowanceName",
    "BackendName",
    "CodeLens",
    "Corpus",
    "Diagnostics",
    "ExecutorName",
    "Guard",
    "HotKernels",
    "InlayHints",
    "Jobs",
    "Lines",
    "PathMap",
    "Profiles",
    "Prove",
    "Rewrite",
    "Search",
    "Section",
    "Settings",
    "from_toml",
    "known_keys",
    "load_toml",
    "parse",
]
