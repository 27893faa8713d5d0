"""The failures of the corpus, each with the code under which it is told as a note where it must stop nothing."""

from __future__ import annotations

from optimas_lsp.errors import OptimasError
from optimas_lsp.profile.model import Note


class CorpusError(OptimasError):
    """The corpus cannot be read or written."""

    code = "corpus-unusable"

    @property
    def note(self) -> Note:
        """The failure for somebody who goes on without the corpus."""
        return Note(code=self.code, text=f"corpus: {self.sentence()}")


class ReadOnlyError(CorpusError):
    """Nothing can be written where the corpus is."""

    code = "corpus-read-only"


class FullError(CorpusError):
    """There is no space left for the corpus."""

    code = "corpus-full"


class BusyError(CorpusError):
    """Other processes did not let the corpus go in time."""

    code = "corpus-busy"


class NewerError(CorpusError):
    """The corpus was written by a newer version of this program."""

    code = "corpus-newer"


class RefusedError(CorpusError):
    """An attempt holds what must not be kept."""

    code = "corpus-refused"


class UnknownAttemptError(CorpusError):
    """No attempt, or more than one, has the id that was given."""

    code = "corpus-unknown"


class UnknownDatasetError(CorpusError):
    """No dataset, or more than one, has the name or id that was given."""

    code = "corpus-unknown"
