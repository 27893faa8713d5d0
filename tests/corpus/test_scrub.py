"""Nothing of the machine, its owner or anybody's keys gets into the corpus, and code stays what it was."""

from __future__ import annotations

import tempfile
from pathlib import Path

import pytest
from entries import attempt
from hypothesis import given
from hypothesis import strategies as st

from optimas_lsp.corpus import Corpus
from optimas_lsp.corpus.model import Gate, NewText
from optimas_lsp.corpus.scrub import Scrubber, leaks
from optimas_lsp.rewrite.outcome import Proof, Rewriting

ROOT = Path(__file__).resolve().parents[2]
KEYS = {
    "OPENAI_API_KEY": "sk-proj-AbCdEf0123456789AbCdEf0123456789",
    "MY_SERVICE_TOKEN": "plainwordsecret99",
    "DB_PASSWORD": "correct horse battery",
    "HF_TOKEN": "hf_AbCdEfGhIjKlMnOpQrStUv",
}
HOME = "/home/alice.o-neil"


@pytest.fixture
def hostile(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """A machine with keys, a home folder and a user; gives everything that must not be found anywhere."""
    for name, value in KEYS.items():
        monkeypatch.setenv(name, value)
    monkeypatch.setenv("HOME", HOME)
    monkeypatch.setenv("USER", "alice.o-neil")
    monkeypatch.setenv("LOGNAME", "alice.o-neil")
    return [*KEYS.values(), HOME, "alice.o-neil", tempfile.gettempdir(), "/lustre/groups/secret-project"]


def soiled(text: str) -> str:
    """The text with everything in it that must go."""
    return (
        f"{text} {HOME}/work/kernel.cu:12: {tempfile.gettempdir()}/build-1/x.o -I{HOME}/include file://{HOME}/a "
        f"/lustre/groups/secret-project/in.bin {' '.join(KEYS.values())} api_key=ABCDEF123456789012"
    )


def assert_clean(corpus: Corpus, hostile: list[str]) -> None:
    files = [each for each in corpus.store.folder.rglob("*") if each.is_file()]
    assert files
    for file in files:
        data = file.read_bytes()
        for each in hostile:
            assert each.encode() not in data, (file.name, each)
        assert b"ABCDEF123456789012" not in data
        assert b"/home/" not in data
        assert b"alice" not in data


def test_no_byte_of_the_store_holds_a_key_a_folder_or_a_name(
    corpus: Corpus, rewriting: Rewriting, hostile: list[str], tmp_path: Path
) -> None:
    corpus = Corpus.of_user()
    first = rewriting.attempts[0]
    proof = Proof(
        state="refuted",
        sentence=soiled("the output differs:"),
        details={
            "gates": [{"name": "run", "status": "fail", "sentence": soiled("see")}],
            "not_checked": [soiled("not read")],
            "machine": {"gpu": {"name": "NVIDIA H200", "driver": "580"}, "tools": {"nvcc": soiled("13.0")}},
            "recorded": soiled("recorded"),
        },
    )
    comment = f"// {soiled('taken from')}\n"
    rough = first.model_copy(
        update={
            "proof": proof,
            "diff": first.diff.replace("@@\n", f"@@\n+{comment}", 1),
            "problem": soiled("failed"),
        }
    )
    soiled_rewriting = rewriting.model_copy(
        update={"attempts": (rough,), "explanation": (soiled("because"),), "scores": {soiled("key"): soiled("value")}}
    )
    assert corpus.keep(soiled_rewriting) is None
    (row,) = corpus.store.rows()
    assert ".../kernel.cu:12" in row.entry.sentence
    assert corpus.reject(row.entry.key[:12], soiled("it broke")) is None
    more = attempt(
        5,
        code=f'{comment}__global__ void k() {{ const char* s = "{HOME}/data.bin"; /* {KEYS["HF_TOKEN"]} */ }}',
        functions=(NewText(function="k", text=f'#include "{HOME}/inc/k.cuh"\nvoid k() {{}}'),),
        gates=(Gate(name="build", status="fail", sentence=soiled("nvcc said")),),
    )
    assert corpus.keep_entries(lambda: [more], near=tmp_path / "my secret program") is None
    assert len(corpus.store.rows()) == 2
    assert_clean(corpus, hostile)


def test_a_program_in_a_folder_named_like_its_user_does_not_tell_who_that_is(
    corpus: Corpus, hostile: list[str]
) -> None:
    corpus = Corpus.of_user()
    entry = attempt(1)
    own = entry.model_copy(update={"origin": entry.origin.model_copy(update={"project": "alice.o-neil"})})
    assert corpus.keep_entries(lambda: [own]) is None
    assert_clean(corpus, hostile)


def test_what_cannot_be_cleaned_is_refused_with_its_field(corpus: Corpus, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Scrubber, "scrubbed", lambda _self, data, _path="": data)
    note = corpus.keep_entries(lambda: [attempt(1, sentence="see /home/bob/kernel.cu"), attempt(2)])
    assert note is not None
    assert note.code == "corpus-refused"
    assert "an absolute path in 'sentence'" in note.text
    assert "bob" not in note.text
    assert [row.entry.number for row in corpus.store.rows()] == [2]


@pytest.mark.parametrize(
    "path", sorted((ROOT / "samples").rglob("*.cu*")), ids=lambda path: str(path.relative_to(ROOT))
)
def test_code_without_secrets_stays_as_it_is(path: Path) -> None:
    text = path.read_text("utf-8")
    scrubber = Scrubber.of_machine({})
    assert scrubber.code(text) == text
    assert scrubber.diff(text) == text
    assert list(leaks({"code": text})) == []


@pytest.mark.parametrize(
    "code",
    [
        "int x = a /b/c;",
        "mean = sum/tmp; y = total /tmp; z = (a + b)/data/n + s[i]/work/scratch;",
        "x = y/root/2; q = n /root;",
        "y = x/n/m + t / (p/q);",
        "int tokens = params.max_tokens_v2x;",
        'printf("%s:\\n\\t%d\\n", name, n);',
        "// half a / half b, see https://docs.nvidia.com/cuda/cuda-c-programming-guide/index.html",
        "key_t secret = table[lookup_token_12345678];",
    ],
)
def test_code_that_resembles_a_path_or_a_key_stays(code: str) -> None:
    scrubber = Scrubber.of_machine({})
    assert scrubber.code(code) == code
    assert list(leaks({"code": code, "patch": code})) == []


@pytest.mark.parametrize(
    ("text", "clean"),
    [
        ("/home/bob/src/k.cu(3): error", ".../k.cu(3): error"),
        ("C:\\Users\\bob\\k.cu failed", ".../k.cu failed"),
        ("run -L/opt/site/lib64 now", "run -L.../lib64 now"),
        ("at ~/runs/7", "at .../7"),
        ("Bearer abcdefghijklmnop0123", "<removed>"),
        ("password: hunter2hunter2", "password: <removed>"),
        ("password: correcthorsebattery", "password: <removed>"),
        ("C:\\Users\\Jane Doe\\My Projects\\k.cu(3): error", ".../k.cu(3): error"),
        ("d:/ours/k.cu and \\\\server\\ours\\bob\\k.cu", ".../k.cu and .../k.cu"),
        ("LD_LIBRARY_PATH=/ours/a/lib:/ours/b/lib", "LD_LIBRARY_PATH=.../lib:.../lib"),
        ("nvcc -I/ours/grp/include -isystem/ours/x/inc", "nvcc -I.../include -isystem.../inc"),
        ("error:/ours/grp/k.cu, #include </ours/grp/k.h>", "error:.../k.cu, #include <.../k.h>"),
        ("host:/ours/grp/k.cu", "host:.../k.cu"),
        ("https://bob:hunter2pw@host/x", "https://<removed>@host/x"),
        ("Authorization: Basic dXNlcjpwYXNz", "<removed>"),
        ("AccountKey=abcd1234abcd1234==", "AccountKey=<removed>"),
        ("nvapi-abcdefghijklmnopqrst01 gsk_abcdefghijklmnopqrst01", "<removed> <removed>"),
        ("1.5 times in a/b tests", "1.5 times in a/b tests"),
    ],
)
def test_sentences_lose_paths_and_keys_and_nothing_else(text: str, clean: str) -> None:
    scrubber = Scrubber.of_machine({})
    assert scrubber.prose(text) == clean
    assert list(scrubber.leaks({"sentence": clean})) == []


def test_a_path_in_the_middle_of_a_comment_of_a_diff_is_cut() -> None:
    scrubber = Scrubber.of_machine({})
    diff = " /*\n  * taken from /net/groups/ours/k.cu\n- * and /home/bob/k.cu\n  */\n+    *p = a /b/c;\n"
    clean = scrubber.diff(diff)
    assert clean == " /*\n  * taken from .../k.cu\n- * and .../k.cu\n  */\n+    *p = a /b/c;\n"
    assert list(leaks({"patch": clean})) == []
    assert list(leaks({"patch": diff})) == [("patch", "an absolute path")]


WORDS = (
    "a|b.cu|alice|/|//|/home/|/home/alice|/tmp|/tmp/|/usr/|/net/a|~|~bob/|C:\\|\\|file://|-I|*| * |/*|*/|\"|'|#include "
    "| |\n|.|..|=|:|)|(|+|-|<|>|,|é|token|api_key|0123456789ab|Bearer |sk-|xxxxxxxxxxxxxxxxxxxx"
)
PIECES = st.sampled_from(WORDS.split("|"))


@given(st.lists(PIECES, max_size=14).map("".join))
def test_whatever_was_scrubbed_holds_nothing_more_and_scrubbing_again_changes_nothing(text: str) -> None:
    scrubber = Scrubber(folders=("/home/alice", "/tmp"), secrets=("hunter2hunter2",), user="alice")
    for clean, field in ((scrubber.prose, "sentence"), (scrubber.code, "code"), (scrubber.diff, "patch")):
        once = clean(f"{text}hunter2hunter2")
        assert list(scrubber.leaks({field: once})) == []
        assert "hunter2" not in once


def test_a_key_that_looks_like_a_digest_is_removed() -> None:
    key = "0123456789abcdef0123456789abcdef01234567"  # forty hexadecimal digits, as some services give them
    scrubber = Scrubber.of_machine({"SERVICE_API_KEY": key})
    assert list(scrubber.leaks({"author": {"model": key}})) == [("author.model", "something of this machine")]
    assert scrubber.scrubbed({"author": {"model": key}}) == {"author": {"model": "<removed>"}}


@pytest.mark.parametrize(
    "piece", ["a.", "a-", "eyJ-", "token", "token=", "secret-", "-I/", "~", "A:\\", "file://", "://a:"]
)
def test_a_text_made_to_be_slow_to_search_is_looked_through(piece: str) -> None:
    """Its length squared would be hours."""
    text = piece * (150_000 // len(piece))
    scrubber = Scrubber.of_machine({})
    assert isinstance(scrubber.prose(text), str)
    assert isinstance(list(leaks({"sentence": text, "code": f"// {text}"})), list)
