"""The packages of the extra ``campaign``, and the sentence when one is missing."""

from __future__ import annotations

import importlib
from types import ModuleType

from optimas_lsp.errors import OptimasError


class MissingPackageError(OptimasError):
    """A package of the extra ``campaign`` is not installed."""


def load(module: str, purpose: str) -> ModuleType:
    """Import ``module``; raises MissingPackageError that names the package, what needs it and how to install it."""
    package = module.partition(".")[0]
    try:
        return importlib.import_module(module)
    except ModuleNotFoundError as error:
        if error.name is None or error.name.partition(".")[0] != package:
            raise
    names = {"scipy": "scikit-learn (which brings scipy)"}
    raise MissingPackageError(
        f"{purpose} needs the package {names.get(package, package)}, which is not installed",
        remedy="install it with: pip install 'optimas-lsp[campaign]'",
    )
