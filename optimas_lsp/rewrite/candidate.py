"""A candidate: a proposal in the place of the old functions, in a copy of the file's bytes."""

from __future__ import annotations

import codecs
import difflib
import hashlib
from pathlib import PurePath

from optimas_lsp.profile.model import Frozen
from optimas_lsp.rewrite.edits import EditError, LineEdit, apply, inverse, plan
from optimas_lsp.rewrite.proposal import Proposal
from optimas_lsp.source.syntax import Syntax, language_of, parse
from optimas_lsp.source.text import SourceText, decode

_MARKS = (
    (codecs.BOM_UTF8, "utf-8"),
    (codecs.BOM_UTF32_LE, "utf-32-le"),
    (codecs.BOM_UTF32_BE, "utf-32-be"),
    (codecs.BOM_UTF16_LE, "utf-16-le"),
    (codecs.BOM_UTF16_BE, "utf-16-be"),
)


class Encoding(Frozen):
    """How a file's text became bytes: the codec's name and the byte-order mark in front."""

    name: str
    mark: bytes = b""

    @classmethod
    def of(cls, data: bytes) -> tuple[SourceText, Encoding]:
        """The text of a file and its encoding; raises EditError where the way back would not give the same bytes."""
        found = decode(data)
        mark, name = next(((mark, name) for mark, name in _MARKS if data.startswith(mark)), (b"", found.encoding))
        encoding = cls(name=name, mark=mark)
        if mark + found.text.encode(name, "replace") != data:
            raise EditError(f"the file is not valid {name}", remedy="save it as UTF-8")
        return SourceText.of(found.text), encoding

    def encode(self, text: SourceText) -> bytes:
        """The text as bytes; raises EditError naming the character that the encoding does not have."""
        try:
            return self.mark + text.text.encode(self.name)
        except UnicodeEncodeError as error:
            char = text.text[error.start]
            line = text.text.count("\n", 0, error.start) + 1
            raise EditError(
                f"the new text holds '{char}', which the file's encoding {self.name} does not have",
                line=line,
                remedy="save the file as UTF-8, or ask again",
            ) from None


class Candidate(Frozen):
    """One file before and after. ``original`` and ``edited`` are bytes; ``edits`` lead from the one to the other."""

    proposal: Proposal
    original: bytes
    edited: bytes
    edits: tuple[LineEdit, ...]
    encoding: Encoding

    @classmethod
    def of(
        cls, data: bytes, proposal: Proposal, *, path: PurePath | str = "source.cu", syntax: Syntax | None = None
    ) -> Candidate:
        """Put the proposal into the file's bytes; ``path`` tells the language, ``syntax`` is a parse of its text.

        Raises LocationError for a function that is missing or ambiguous and EditError for one that cannot be put in.
        """
        text, encoding = Encoding.of(data)
        parsed = parse(text, language_of(path) or "cuda") if syntax is None else syntax
        edits = plan(text, proposal, parsed)
        return cls(
            proposal=proposal,
            original=data,
            edited=encoding.encode(apply(text, edits)),
            edits=edits,
            encoding=encoding,
        )

    def reverted(self) -> bytes:
        """The original, from the edited text and the inverse of the edits."""
        text, encoding = Encoding.of(self.edited)
        return encoding.encode(apply(text, inverse(self.edits)))

    @property
    def sha256(self) -> str:
        """Of the edited bytes."""
        return hashlib.sha256(self.edited).hexdigest()

    def lines_changed(self) -> tuple[int, ...]:
        """1-based lines of the original that give way or, for an insertion, that it is put in front of."""
        found: list[int] = []
        for edit in self.edits:
            found += range(edit.first, edit.first + max(1, len(edit.before)))
        return tuple(found)

    def diff(self, name: str = "source.cu") -> str:
        """The change as a unified diff."""
        before, after = (Encoding.of(data)[0].text for data in (self.original, self.edited))
        return "".join(
            line if line.endswith("\n") else line + "\n\\ No newline at end of file\n"
            for line in difflib.unified_diff(
                before.splitlines(keepends=True), after.splitlines(keepends=True), f"a/{name}", f"b/{name}"
            )
        )
