"""How a program without a ``[target]`` is built and run, as far as its files say; nothing is run to find out."""

from optimas_lsp.prove.inference.infer import find_target, root_of
from optimas_lsp.prove.inference.wanted import Inferred, NoTargetError, Wanted

__all__ = ["Inferred", "NoTargetError", "Wanted", "find_target", "root_of"]
