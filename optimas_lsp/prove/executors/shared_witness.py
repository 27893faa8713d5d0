"""One witness for every proof that this process has made here: built once, and believed by its digest alone."""

from __future__ import annotations

import atexit
import hashlib
import os
import subprocess
import threading
from contextlib import ExitStack
from importlib import resources
from pathlib import Path

from optimas_lsp.prove.runner import tools, witness
from optimas_lsp.prove.scratch import scratch


class SharedWitness:
    """The witness in a folder that goes with this process, also after a kill (``prove.scratch``).

    Candidates run as the same user and can write there, so a runner takes it only when it has the digest that is kept
    here, in memory, and builds one of its own otherwise.
    """

    def __init__(self) -> None:
        self._turn = threading.Lock()
        self._folder = ExitStack()
        self._variables: dict[str, str] = {}
        self._failed = False

    def variables(self, job: Path) -> dict[str, str]:
        """What tells the runner of ``job`` where the witness is and what its digest is.

        Built when it is asked for first, which takes seconds: never call this on an event loop. {} where the runner is
        to build its own: there is no GPU, the job was packed with another witness, somebody named a cache, or it cannot
        be built here, and then the runner says why.
        """
        if os.environ.get(witness.CACHE) or not _packed_with_ours(job):
            return {}
        with self._turn:
            if not self._variables and not self._failed and tools.gpu() is not None:
                self._build()
            return self._variables

    def remove(self) -> None:
        """Remove the folder; the next proof builds anew."""
        self._variables = {}
        self._folder.close()

    def _build(self) -> None:
        try:
            folder = self._folder.enter_context(scratch("witness"))
            atexit.register(self.remove)
            sources = folder / "sources"
            sources.mkdir()
            for name, data in _sources().items():
                (sources / name).write_bytes(data)
            built = witness.build(sources, folder / "built", tools.find("nvcc"))
            self._variables = {
                witness.SHARED: str(built),
                witness.SHARED_DIGEST: hashlib.sha256(built.read_bytes()).hexdigest(),
            }
        except (witness.WitnessUnavailableError, OSError, subprocess.SubprocessError):
            self._failed = True
            self.remove()


def _sources() -> dict[str, bytes]:
    package = resources.files("optimas_lsp.prove.witness")
    return {name: (package / name).read_bytes() for name in witness.SOURCES}


def _packed_with_ours(job: Path) -> bool:
    try:
        return all((job / "witness" / name).read_bytes() == data for name, data in _sources().items())
    except OSError:
        return False
