"""Numbers for likeness: code shape, evidence mix and GPU generation of an attempt as one vector.

The scalar product of two vectors is ``CODE`` times the cosine of the codes, plus ``EVIDENCE`` times that of the
evidence, plus ``DEVICE`` where the generations are the same: 1 for an attempt and itself. Runs of normalised tokens and
rules are hashed into a fixed number of columns with signs (feature hashing, Weinberger et al. 2009), so that a vector
depends on its own attempt alone and an index grows without being fitted again.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from optimas_lsp.corpus.failures import CorpusError
from optimas_lsp.corpus.shape import normal_tokens

if TYPE_CHECKING:
    from collections.abc import Callable

CODE, EVIDENCE, DEVICE = 0.55, 0.38, 0.07
CODE_COLUMNS, EVIDENCE_COLUMNS, DEVICE_COLUMNS = 192, 48, 8
COLUMNS = CODE_COLUMNS + EVIDENCE_COLUMNS + DEVICE_COLUMNS
WINDOW = 3
"""Tokens of one run: shorter than for near-duplicates, because resemblance is looked for and not sameness."""

FORMAT = f"1-{COLUMNS}-{WINDOW}"
"""Changes whenever the same attempt would get another vector."""

Vectors = npt.NDArray[np.float32]


class MissingExtraError(CorpusError):
    """A package that only some installations have is missing."""

    code = "corpus-extra"


def missing(package: str, what: str) -> MissingExtraError:
    """The failure that names the extra."""
    return MissingExtraError(
        f"{what} needs the package {package}, which is not installed", remedy="pip install 'optimas-lsp[campaign]'"
    )


def vectors_of(codes: Sequence[str], rules: Sequence[dict[str, float]], generations: Sequence[str]) -> Vectors:
    """One row of ``COLUMNS`` numbers for each attempt. Raises MissingExtraError where scikit-learn is missing."""
    code, hasher = _hashers()
    found = np.zeros((len(codes), COLUMNS), dtype=np.float32)
    each = {text: at for at, text in enumerate(dict.fromkeys(codes))}  # many attempts are on one code
    found[:, :CODE_COLUMNS] = code.transform(list(each)).toarray()[[each[text] for text in codes]]
    weighted = [{rule: float(np.sqrt(max(share, 0.0025))) for rule, share in each.items()} for each in rules]
    found[:, CODE_COLUMNS : CODE_COLUMNS + EVIDENCE_COLUMNS] = hasher(EVIDENCE_COLUMNS).transform(weighted).toarray()
    named = [{each: 1.0} if each else {} for each in generations]
    found[:, CODE_COLUMNS + EVIDENCE_COLUMNS :] = hasher(DEVICE_COLUMNS).transform(named).toarray()
    start = 0
    for columns, weight in ((CODE_COLUMNS, CODE), (EVIDENCE_COLUMNS, EVIDENCE), (DEVICE_COLUMNS, DEVICE)):
        part = found[:, start : start + columns]
        length = np.linalg.norm(part, axis=1, keepdims=True)
        part *= np.float32(np.sqrt(weight)) / np.where(length > 0, length, 1)
        start += columns
    return found


def _windows(code: str) -> list[str]:
    tokens = normal_tokens(code)
    return list(dict.fromkeys(" ".join(tokens[at : at + WINDOW]) for at in range(max(0, len(tokens) - WINDOW + 1))))


@lru_cache(maxsize=1)
def _hashers() -> tuple[Any, Callable[[int], Any]]:
    try:
        from sklearn.feature_extraction import FeatureHasher
        from sklearn.feature_extraction.text import HashingVectorizer
    except ImportError:
        raise missing("scikit-learn", "finding past attempts") from None
    texts: Any = HashingVectorizer  # its annotations, taken from defaults, are narrower than what it takes
    tables: Any = FeatureHasher
    code = texts(analyzer=_windows, n_features=CODE_COLUMNS, norm=None, dtype=np.float32)
    return code, lambda columns: tables(n_features=columns, input_type="dict", dtype=np.float32)
