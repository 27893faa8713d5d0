"""What an answer costs, from ``prices.toml`` or the settings; a price that is not known is not guessed."""

from __future__ import annotations

import datetime
import functools
import re
import tomllib
from importlib import resources
from typing import Any, cast

from optimas_lsp.config import Rewrite
from optimas_lsp.profile.model import Frozen
from optimas_lsp.rewrite.backends.model import Destination, Usage

MILLION = 1_000_000


class Price(Frozen):
    """One row: USD per million tokens."""

    model: str
    input: float
    output: float


@functools.cache
def table() -> tuple[datetime.date, tuple[Price, ...]]:
    """The day on which the prices were noted, and the prices."""
    data = tomllib.loads((resources.files(__package__ or "") / "prices.toml").read_text("utf-8"))
    rows = cast("list[dict[str, Any]]", data["price"])
    return cast("datetime.date", data["as_of"]), tuple(Price(**row) for row in rows)


def find(model: str) -> Price | None:
    """The row with the longest name that ``model`` starts with, followed by a dash, a dot-less end or a date."""
    name = model.rsplit("/", 1)[-1].lower()
    rows = [row for row in table()[1] if re.match(re.escape(row.model) + r"(?:$|-(?:\d|latest|preview|exp))", name)]
    return max(rows, key=lambda row: len(row.model), default=None)


def priced(usage: Usage, destination: Destination | None, settings: Rewrite) -> Usage:
    """``usage`` with its cost: the settings' prices, nothing for this machine's own servers, else the table's."""
    if usage.input_tokens is None and usage.output_tokens is None:
        return usage
    if settings.price_input or settings.price_output:
        return _at(usage, settings.price_input, settings.price_output, "the settings' prices")
    if destination is None or destination.local:
        return usage.model_copy(update={"cost_usd": 0.0, "price": "this machine"})
    row = find(destination.model)
    if row is None:
        return usage.model_copy(update={"price": "not known: set rewrite.priceInput and rewrite.priceOutput"})
    return _at(usage, row.input, row.output, f"list price of {row.model} as of {table()[0]}, not checked since")


def _at(usage: Usage, price_input: float, price_output: float, words: str) -> Usage:
    cost = ((usage.input_tokens or 0) * price_input + (usage.output_tokens or 0) * price_output) / MILLION
    return usage.model_copy(update={"cost_usd": cost, "price": words})
