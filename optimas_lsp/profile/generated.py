"""Which source files were made at run time and cannot be opened."""

from __future__ import annotations

import re

from optimas_lsp.profile.model import SourceFile

_GENERATED = re.compile(
    r"^<.*>$"  # <string>, <cupy>: names in angle brackets are never files
    r"|^default_program$"  # NVRTC without a name
    r"|\.cubin\.cu$"  # CuPy's raw and elementwise kernels
    r"|(^|/)tmp[a-z0-9_]{8}/[^/]*$"  # a folder of tempfile.mkdtemp
    r"|^nvrtc|^jitify"
)


def is_generated(file: SourceFile) -> bool:
    """Whether the file was made at run time (NVRTC, CuPy, exec) and its text is not in the report."""
    return file.text is None and file.line_digests is None and _GENERATED.search(file.path) is not None
