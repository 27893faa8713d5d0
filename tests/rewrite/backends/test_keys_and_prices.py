"""Keys belong to hosts and show nothing; a price is the settings', the table's with its date, or unknown."""

from __future__ import annotations

import asyncio
import subprocess
import sys
from pathlib import Path

import pytest
from dialects import DIALECTS, REQUEST, SECRET, openai_answer
from wire_server import serving

from optimas_lsp.config import Rewrite, from_toml
from optimas_lsp.rewrite.backends import prices
from optimas_lsp.rewrite.backends.keys import Key, find_key, variables
from optimas_lsp.rewrite.backends.making import make_backend
from optimas_lsp.rewrite.backends.model import BackendError, Destination, Usage
from optimas_lsp.rewrite.backends.wire import address_of


def test_a_vendors_key_is_for_the_vendors_host_only() -> None:
    environment = {"OPENAI_API_KEY": "vendor", "OPTIMAS_KEY_LLM_EXAMPLE_ORG": "theirs"}
    official, other, stranger = (
        find_key(host, environment) for host in ("api.openai.com", "llm.example.org", "evil.example")
    )
    assert official is not None
    assert official.reveal() == "vendor"
    assert other is not None
    assert other.reveal() == "theirs"
    assert stranger is None
    assert variables("10.0.0.7") == ("OPTIMAS_KEY_10_0_0_7",)


def test_a_key_shows_nothing() -> None:
    key = Key(SECRET)
    assert SECRET not in f"{key} {key!r} {vars(type(key))}"
    assert key.scrubbed(f"x {SECRET} y") == "x [key] y"


def test_a_key_is_read_from_the_keyring(tmp_path: Path) -> None:
    (tmp_path / "stored.py").write_text(
        "from keyring.backend import KeyringBackend\n"
        "class Stored(KeyringBackend):\n"
        "    priority = 1\n"
        "    def get_password(self, service, username):\n"
        "        return 'kept' if (service, username) == ('optimas-lsp', 'llm.example.org') else None\n"
        "    def set_password(self, service, username, password): raise NotImplementedError\n",
        "utf-8",
    )
    code = (
        "from optimas_lsp.rewrite.backends.keys import find_key\n"
        "print(find_key('llm.example.org', {}).reveal(), find_key('other.example', {}))"
    )
    environment = {"PYTHONPATH": f"{tmp_path}:{Path(__file__).parents[3]}", "PYTHON_KEYRING_BACKEND": "stored.Stored"}
    ran = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, env=environment)
    assert ran.stdout == "kept None\n"


@pytest.mark.parametrize(
    ("settings", "words"),
    [
        ({"backend": "openai"}, "needs a model's name"),
        ({"backend": "openai", "model": "gpt-5"}, "OPENAI_API_KEY"),
        ({"backend": "gemini", "model": "gemini-2.5-pro"}, "GEMINI_API_KEY"),
        ({"backend": "openai", "model": "m", "base_url": "https://llm.example.org/v1"}, "OPTIMAS_KEY_LLM_EXAMPLE_ORG"),
        ({"backend": "openai", "model": "m", "base_url": "ftp://x"}, "no address"),
        ({"backend": "openai", "model": "m", "base_url": "http://[::1"}, "no address"),
        ({"backend": "openai", "model": "m", "base_url": "https://user:pw@host/v1"}, "carries a user name"),
    ],
)
def test_what_cannot_work_is_said_before_anything_is_sent(settings: dict[str, str], words: str) -> None:
    with pytest.raises(BackendError, match=words) as caught:
        make_backend(Rewrite.model_validate(settings))
    assert caught.value.remedy
    assert "pw@" not in str(caught.value)


@pytest.mark.parametrize(
    ("url", "local", "encrypted"),
    [
        ("http://127.0.0.1:8000/v1", True, False),
        ("http://localhost:11434", True, False),
        ("http://[::1]:80", True, False),
        ("http://10.0.0.7:8000", False, False),
        ("https://api.openai.com/v1/", False, True),
        ("http://localhost.example.org", False, False),
        ("http://127.0.0.1.example.org", False, False),
    ],
)
def test_a_destination_says_whether_it_leaves_the_machine_and_encrypted(url: str, local: bool, encrypted: bool) -> None:
    address = address_of(url)
    assert (address.local, address.encrypted) == (local, encrypted)
    assert address.destination("openai", "m").where == url.rstrip("/")


def test_no_sdk_is_imported_before_something_is_sent() -> None:
    code = (
        "import sys\n"
        "from optimas_lsp.config import Rewrite\n"
        "from optimas_lsp.rewrite.backends.making import make_backend\n"
        "make_backend(Rewrite(backend='ollama', model='m'))\n"
        "print(sorted({'openai', 'google.genai', 'ollama', 'httpx', 'httpx2'} & set(sys.modules)))"
    )
    environment = {
        "PYTHONPATH": str(Path(__file__).parents[3]),
        "PYTHON_KEYRING_BACKEND": "keyring.backends.null.Keyring",
    }
    ran = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, env=environment)
    assert ran.stdout == "[]\n"


REMOTE = Destination(backend="openai", where="https://api.openai.com/v1", model="gpt-5-mini-2025-08-07")
USED = Usage(input_tokens=1_000_000, output_tokens=100_000)


def test_the_longest_row_that_fits_sets_the_price_and_its_date_is_said() -> None:
    cost = prices.priced(USED, REMOTE, Rewrite())
    assert cost.cost_usd == pytest.approx(0.25 + 0.2)
    assert str(prices.table()[0]) in cost.price
    assert "gpt-5-mini" in cost.price


def test_a_price_that_is_not_known_is_not_guessed() -> None:
    for model in ("gpt-55", "gpt-5o", "llama-3.1-70b", "gpt-5-turbo"):
        cost = prices.priced(USED, REMOTE.model_copy(update={"model": model}), Rewrite())
        assert cost.cost_usd is None
        assert "not known" in cost.price


def test_the_settings_prices_go_first_and_this_machine_is_free() -> None:
    own = prices.priced(USED, REMOTE, Rewrite(price_input=2.0, price_output=10.0))
    assert own.cost_usd == pytest.approx(3.0)
    local = prices.priced(USED, REMOTE.model_copy(update={"local": True}), Rewrite())
    assert local.cost_usd == 0.0
    assert prices.priced(Usage(), REMOTE, Rewrite()) == Usage()


def test_one_price_of_the_settings_does_not_make_the_other_nothing() -> None:
    cost = prices.priced(USED, REMOTE, Rewrite(price_input=2.0))
    assert cost.cost_usd == pytest.approx(2.0 + 0.2)
    assert "the settings' price of input tokens" in cost.price
    assert str(prices.table()[0]) in cost.price
    unknown = prices.priced(USED, REMOTE.model_copy(update={"model": "llama"}), Rewrite(price_output=2.0))
    assert unknown.cost_usd is None
    assert "set both" in unknown.price
    local = prices.priced(USED, REMOTE.model_copy(update={"local": True}), Rewrite(price_output=5.0))
    assert local.cost_usd == pytest.approx(0.5)


def test_a_price_of_the_table_says_how_to_replace_it(tmp_path: Path) -> None:
    said = prices.priced(USED, REMOTE, Rewrite()).price
    assert "rewrite.priceInput and rewrite.priceOutput replace it" in said
    toml = tmp_path / "optimas.toml"
    toml.write_text("[rewrite]\nprice_input = 3.0\nprice_output = 4.0\n", "utf-8")
    assert prices.priced(USED, REMOTE, from_toml(toml).rewrite).cost_usd == pytest.approx(3.4)


def test_costs_of_several_answers_add_up() -> None:
    with serving(openai_answer()) as server:
        backend = DIALECTS["openai"].make(server.url, price_input=1.0, price_output=2.0)
        replies = [asyncio.run(backend.ask(REQUEST)) for _ in range(2)]
    total = replies[0].usage + replies[1].usage
    assert (total.input_tokens, total.output_tokens, total.reasoning_tokens) == (2000, 400, 100)
    assert total.cost_usd == pytest.approx(2 * (1000 + 400) / 1e6)
