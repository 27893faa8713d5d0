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
UNKNOWN = "set rewrite.priceInput and rewrite.priceOutput"


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
    """``usage`` with its cost: the settings' prices, nothing for this machine's own servers, else the table's.

    Where the settings have one of the two prices only, the other is the table's.
    """
    if usage.input_tokens is None and usage.output_tokens is None:
        return usage
    own_input, own_output = settings.price_input, settings.price_output
    if own_input and own_output:
        return _at(usage, own_input, own_output, "the settings' prices")
    away = None if destination is None or destination.local else destination
    if away is None and not (own_input or own_output):
        return usage.model_copy(update={"cost_usd": 0.0, "price": "this machine"})
    row = Price(model="this machine", input=0.0, output=0.0) if away is None else find(away.model)
    if row is None:
        needed = "set both rewrite.priceInput and rewrite.priceOutput" if own_input or own_output else UNKNOWN
        return usage.model_copy(update={"price": f"not known: {needed}"})
    listed = (
        "nothing for this machine" if away is None else f"the built-in list price of {row.model} as of {table()[0]}"
    )
    if own_input or own_output:
        which, other = ("input", "output") if own_input else ("output", "input")
        words = f"the settings' price of {which} tokens, {listed} for {other}"
        return _at(usage, own_input or row.input, own_output or row.output, words)
    return _at(usage, row.input, row.output, f"{listed}; rewrite.priceInput and rewrite.priceOutput replace it")


def _at(usage: Usage, price_input: float, price_output: float, words: str) -> Usage:
    cost = ((usage.input_tokens or 0) * price_input + (usage.output_tokens or 0) * price_output) / MILLION
    return usage.model_copy(update={"cost_usd": cost, "price": words})
