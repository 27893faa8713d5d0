"""``Corpus``: what other rooms use. Nothing here fails: what went wrong is a note, and everything goes on without."""

from __future__ import annotations

import os
from collections.abc import Callable, Collection, Iterable
from dataclasses import dataclass, field
from pathlib import Path
from typing import TypeVar

import platformdirs

from optimas_lsp.config import Corpus as CorpusSettings
from optimas_lsp.corpus.convert import Context, entries_of
from optimas_lsp.corpus.experience import experience_of
from optimas_lsp.corpus.failures import CorpusError
from optimas_lsp.corpus.model import Entry, NoKind
from optimas_lsp.corpus.query import Query
from optimas_lsp.corpus.scrub import Scrubber
from optimas_lsp.corpus.store import Kept, Store
from optimas_lsp.errors import OptimasError
from optimas_lsp.profile.model import Note
from optimas_lsp.rewrite.experience import Experience
from optimas_lsp.rewrite.outcome import Rewriting
from optimas_lsp.rewrite.prompt import PastCase

ENVIRONMENT = "OPTIMAS_DATA_DIR"

Result = TypeVar("Result")


def data_folder(chosen: Path | None = None) -> Path:
    """``chosen``, else ``$OPTIMAS_DATA_DIR``, else the user's data folder for this program; it may not exist yet."""
    if chosen is not None:
        return chosen
    named = os.environ.get(ENVIRONMENT)
    return Path(named) if named else platformdirs.user_data_path("optimas-lsp", appauthor=False)


@dataclass
class Corpus:
    """The attempts of one user. Missing, empty, damaged, read-only or full: every method still returns.

    ``notes`` gathers what a person should be told, such as that a damaged file was set aside.
    """

    store: Store
    enabled: bool = True
    notes: list[Note] = field(default_factory=list[Note])

    @classmethod
    def of_user(cls, settings: CorpusSettings | None = None, *, folder: Path | None = None) -> Corpus:
        """The user's own, or that in ``folder``; nothing is opened yet."""
        chosen = settings or CorpusSettings()
        return cls(Store(data_folder(folder), limit_mb=chosen.limit_mb), chosen.enable)

    def keep(self, rewriting: Rewriting, *, context: Context | None = None) -> Note | None:
        """Keep every attempt of a rewriting; None: done (or known already). Never raises for what the corpus meets."""
        return self.keep_entries(lambda: entries_of(rewriting, context=context), near=Path(rewriting.source).parent)

    def keep_entries(self, make: Callable[[], Iterable[Entry]], *, near: Path | None = None) -> Note | None:
        """Keep entries made by ``make``; ``near`` is a folder whose name must not be kept."""
        if not self.enabled:
            return None

        def work() -> Kept:
            if near is not None:
                self.store.scrubber = Scrubber.of_machine(extra=(str(near.absolute()),))
            return self.store.add(make())

        kept = self._tried(work)
        if isinstance(kept, Note):
            return kept
        if kept.refused:
            return Note(code="corpus-refused", text=f"corpus: {'; '.join(kept.refused)}")
        return None

    def past_cases(
        self,
        query: Query,
        *,
        most: int = 3,
        study: bool = False,
        same_kernel: bool | None = None,
        leaves: bool = False,
    ) -> tuple[PastCase, ...]:
        """At most ``most`` attempts on like evidence, code and device, most alike first; failures are warnings.

        In a ``study`` attempts on the query's own kernel, or a near-duplicate of it, are left out unless
        ``same_kernel`` says otherwise. ``leaves``: what comes of it leaves this machine, so that of other programs'
        attempts only the names of transformations and figures are told, no code. Empty where there are none, or with
        a note where they cannot be found.
        """
        from optimas_lsp.corpus.retrieve import Searcher, past_case

        if not self.enabled or most < 1:
            return ()
        wanted = not study if same_kernel is None else same_kernel
        found = self._tried(lambda: Searcher(self.store).cases(query, most, same_kernel=wanted))
        if isinstance(found, Note):
            return ()
        return tuple(past_case(row, whole=not leaves or hit.own or not row.own) for row, hit in found)

    def experience(
        self, rules: Collection[str] | None = None, *, without: Query | None = None, own: Query | None = None
    ) -> Experience:
        """How each transformation did, on ``rules`` (None: on all) and overall; empty where nothing is known.

        ``own`` asks, too, what became of changes to exactly that query's code. ``without``, for studies, leaves out
        attempts on that query's kernel and near-duplicates of it.
        """
        if not self.enabled:
            return Experience()
        found = self._tried(lambda: experience_of(self.store, rules, without=without, own=own))
        return Experience() if isinstance(found, Note) else found

    def reject(self, chosen: str, reason: str, kind: NoKind = "rejected") -> Note | None:
        """Record that a person did not want an attempt's edit, or took it back; ``chosen`` is (the start of) its id.

        Later rankings know of it. None: recorded.
        """
        if not self.enabled:
            return Note(code="corpus-off", text="corpus: it is switched off, so a no cannot be recorded")
        found = self._tried(lambda: self.store.say_no(chosen, reason, kind))
        return found if isinstance(found, Note) else None

    def keys_of(self, rewriting: Rewriting) -> tuple[str, ...]:
        """The ids under which ``keep`` keeps a rewriting's attempts, in their order; raises what ``keep`` notes."""
        scrubber = Scrubber.of_machine(extra=(str(Path(rewriting.source).parent.absolute()),))
        return tuple(self.store.key_of(each, scrubber) for each in entries_of(rewriting))

    def refuse(self, rewriting: Rewriting, reason: str, kind: NoKind = "rejected") -> Note | None:
        """Record a person's no to the edit that a rewriting offered: to the winner of each of its rounds.

        None: recorded. A rewriting that offered nothing, or whose attempts were never kept, is a note.
        """

        def work() -> list[str]:
            rounds = rewriting.rounds or (rewriting,)
            return [
                key
                for each in rounds
                for key, attempt in zip(self.keys_of(each), each.attempts, strict=True)
                if attempt is each.standing
            ]

        keys = self._tried(work)
        if isinstance(keys, Note):
            return keys
        if not keys:
            return Note(code="corpus-unknown", text="corpus: this rewrite offered no edit, so there is none to refuse")
        notes = [self.reject(key, reason, kind) for key in keys]
        return next((each for each in notes if each is not None), None)

    def _tried(self, work: Callable[[], Result]) -> Result | Note:
        """The result, or the note why there is none; further notes are gathered."""
        told = self.store.database.notes
        try:
            return work()
        except CorpusError as error:
            return self._noted(error.note)
        except (OptimasError, OSError, ValueError, TypeError, LookupError, AttributeError, RecursionError) as error:
            said = error.sentence() if isinstance(error, OptimasError) else f"{type(error).__name__}: {error}"
            note = Note(code="corpus-unusable", text=f"corpus: {said}")
            return self._noted(note)
        finally:
            for each in told:
                self._noted(each)
            told.clear()

    def _noted(self, note: Note) -> Note:
        """The note, gathered once."""
        if note not in self.notes:
            self.notes.append(note)
        return note
