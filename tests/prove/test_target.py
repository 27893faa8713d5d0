"""[target] says how to build and run a program; what is wrong in it is one sentence that names the key."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from optimas_lsp.errors import ConfigError
from optimas_lsp.prove.target import fits, parse_target, read_target

GOOD: dict[str, Any] = {"build": [["make"]], "inputs": {"small": ["./a", "1"], "large": ["./a", "9"]}}


def test_a_target_says_how_to_build_and_run() -> None:
    target = parse_target(GOOD, where="optimas.toml")
    assert target.build == (("make",),)
    assert target.inputs["large"] == ("./a", "9")
    assert target.outputs == ("stdout",)
    assert target.tolerance is None


@pytest.mark.parametrize(
    ("table", "words"),
    [
        (3, "[target] must be a table"),
        ({"build": []}, "'target.inputs': Field required"),
        ({"inputs": {}}, "[target.inputs] names no command"),
        ({"inputs": {"default": []}}, "'target.inputs.default'"),
        ({**GOOD, "biuld": [["make"]]}, "'target.biuld'"),
        ({**GOOD, "ignore": ["("]}, "not a regular expression"),
        ({**GOOD, "outputs": ["../x"]}, "must be a path inside the program's folder"),
        ({**GOOD, "outputs": ["/etc/passwd"]}, "must be a path inside the program's folder"),
        ({**GOOD, "ignore": [".+"]}, "it matches every line, so nothing would be compared"),
        ({**GOOD, "ignore": [""]}, "it matches every line"),
        ({**GOOD, "outputs": [""]}, "must be a pattern of file names"),
        ({**GOOD, "outputs": ["a/**b"]}, "must be a pattern of file names"),
        ({**GOOD, "outputs": ["**/*"]}, "would take every file of the program for an output"),
        ({**GOOD, "outputs": ["results/**"]}, "would take every file of the program for an output"),
        (
            {**GOOD, "binary": "build/main", "outputs": ["build/*"]},
            "'target.outputs' names the program itself: build/* matches build/main",
        ),
        ({**GOOD, "binary": "../../bin/sh"}, "'target.binary'"),
        ({**GOOD, "time_limit_s": 0}, "'target.time_limit_s'"),
        ({**GOOD, "tolerance": {"relative": -1}}, "'target.tolerance.relative'"),
        ({**GOOD, "time_input": "huge"}, "'target.time_input' names the input 'huge'"),
        ({**GOOD, "sanitize_input": "tiny"}, "'target.sanitize_input' names the input 'tiny'"),
    ],
)
def test_what_is_wrong_is_named_with_file_and_key(table: object, words: str) -> None:
    with pytest.raises(ConfigError) as failure:
        parse_target(table, where="optimas.toml")
    assert words in failure.value.sentence()
    assert "optimas.toml" in failure.value.sentence()


@pytest.mark.parametrize(
    ("table", "words"),
    [
        ({**GOOD, "biuld": 1}, "'target.biuld': there is no such key; did you mean target.build?"),
        ({**GOOD, "xyz": 1}, "'target.xyz': there is no such key; remove target.xyz"),
        ({**GOOD, "build": "make"}, 'target.build is a list of commands, each a list of words: [["make", "program"]]'),
        ({**GOOD, "inputs": ["./a"]}, 'target.inputs is a table of names and commands: default = ["./program"'),
        ({**GOOD, "time_limit_s": "long"}, "target.time_limit_s is a number of seconds above 0"),
        (
            {**GOOD, "tolerance": {"relativ": 1}},
            "'target.tolerance.relativ': there is no such key; target.tolerance is",
        ),
    ],
)
def test_what_is_wrong_comes_with_what_would_be_right(table: object, words: str) -> None:
    with pytest.raises(ConfigError) as failure:
        parse_target(table, where="optimas.toml")
    assert words in failure.value.sentence()
    assert failure.value.sentence().startswith("optimas.toml: ")


def test_every_key_has_an_example() -> None:
    from optimas_lsp.prove import target

    assert set(target._EXPECTED) == set(target.Target.model_fields)  # pyright: ignore[reportPrivateUsage]


def test_a_file_without_a_target_says_what_to_add(tmp_path: Path) -> None:
    toml = tmp_path / "optimas.toml"
    toml.write_text("[hotKernels]\n", "utf-8")
    with pytest.raises(ConfigError) as failure:
        read_target(toml)
    assert "there is no [target] table" in failure.value.sentence()
    assert "docs/proof.md" in failure.value.sentence()


@pytest.mark.parametrize("text", ["^time", "GB/s$", r"\d+ ms", "(?i)elapsed|took"])
def test_patterns_of_some_lines_are_accepted(text: str) -> None:
    assert parse_target({**GOOD, "ignore": [text]}, where="optimas.toml").ignore == (text,)


@pytest.mark.parametrize(
    ("name", "pattern", "expected"),
    [
        ("a/b/x.bin", "a/**/*.bin", True),
        ("a/x.bin", "a/**/*.bin", True),
        ("a/x.bin", "*.bin", False),
        ("x.bin", "*.bin", True),
    ],
)
def test_an_output_pattern_is_about_the_whole_path(name: str, pattern: str, expected: bool) -> None:
    assert fits(name, pattern) is expected
