"""Consent: per folder, exact, recorded outside of the workspace, revocable, and never assumed."""

from __future__ import annotations

import errno
import os
import stat
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

import pytest
from typer.testing import CliRunner

from optimas_lsp.cli.app import app
from optimas_lsp.profile import turn as consents_turn
from optimas_lsp.rewrite.consent import Action, ConsentError, Consents, Run, Send, require

SEND = Send(backend="openai", destination="https://api.openai.com/v1", model="gpt-5", size=12_345)
RUN = Run(commands=(("nvcc", "-O3", "-o", "a b", "k.cu"), ("./a b",)), why="build and try")

ROUNDS = 20

GRANTS = """
import sys
from pathlib import Path
from optimas_lsp.rewrite.consent import Consents, Run
record, folder = Consents(Path(sys.argv[1])), Path(sys.argv[2])
run = Run(commands=(("make",),))
print("ready", flush=True)
sys.stdin.readline()
for number in range(int(sys.argv[3])):
    record.grant(folder / str(number), [run])
"""

REVOKES = """
import sys
from pathlib import Path
from optimas_lsp.rewrite.consent import Consents
record, folder = Consents(Path(sys.argv[1])), Path(sys.argv[2])
print("ready", flush=True)
sys.stdin.readline()
for number in range(int(sys.argv[3])):
    assert record.revoke(str(folder / str(number)))
    assert not [each for each in record.grants() if each.folder == str(folder / str(number))]
"""


@pytest.fixture
def consents(tmp_path: Path) -> Consents:
    return Consents(tmp_path / "state" / "consent.json")


def refuse(_folder: Path, _actions: Sequence[Action]) -> bool:
    return False


def test_what_would_happen_is_shown_exactly(consents: Consents, tmp_path: Path) -> None:
    shown: list[str] = []

    def ask(folder: Path, actions: Sequence[Action]) -> bool:
        shown.extend([str(folder), *(action.sentence() for action in actions)])
        return True

    require(consents, tmp_path / "program", [SEND, RUN], ask)
    text = "\n".join(shown)
    for words in ("12,345 bytes", "https://api.openai.com/v1", "gpt-5", "nvcc -O3 -o 'a b' k.cu", "'./a b'", "program"):
        assert words in text
    require(consents, tmp_path / "program", [SEND, RUN], None)
    plain = SEND.model_copy(update={"destination": "http://10.0.0.7/v1", "encrypted": False})
    assert "NOT ENCRYPTED" in plain.sentence()


def test_without_anyone_to_ask_the_error_names_what_and_the_way_to_accept(consents: Consents, tmp_path: Path) -> None:
    for ask in (None, refuse):
        with pytest.raises(ConsentError, match="--accept") as caught:
            require(consents, tmp_path, [SEND, RUN], ask)
        assert "https://api.openai.com/v1" in str(caught.value)
        assert "nvcc -O3" in str(caught.value)
        assert "\n" not in str(caught.value)
    assert consents.grants() == ()


@pytest.mark.parametrize(
    "other",
    [
        SEND.model_copy(update={"destination": "https://api.openai.com.evil.example/v1"}),
        SEND.model_copy(update={"model": "another"}),
        SEND.model_copy(update={"backend": "gemini"}),
        RUN.model_copy(update={"commands": (*RUN.commands, ("rm", "-rf", "x"))}),
        RUN.model_copy(update={"commands": RUN.commands[:1]}),
        RUN.model_copy(update={"commands": (("nvcc -O3 -o", "a b", "k.cu"), ("./a b",))}),
    ],
)
def test_another_destination_or_command_is_asked_for_again(consents: Consents, tmp_path: Path, other: Action) -> None:
    (tmp_path / "program").mkdir()
    consents.grant(tmp_path / "program", [SEND, RUN])
    assert consents.missing(tmp_path / "program", [SEND, RUN]) == ()
    assert consents.missing(tmp_path / "program", [other]) == (other,)
    larger = SEND.model_copy(update={"size": 99})
    assert consents.missing(tmp_path / "program", [larger]) == ()


def test_a_grant_is_for_one_folder_whatever_it_is_called(consents: Consents, tmp_path: Path) -> None:
    program, inside, link = tmp_path / "program", tmp_path / "program" / "inside", tmp_path / "link"
    inside.mkdir(parents=True)
    link.symlink_to(program)
    consents.grant(link, [SEND])
    assert consents.missing(program, [SEND]) == ()
    assert consents.missing(inside, [SEND]) == (SEND,)
    assert consents.missing(tmp_path, [SEND]) == (SEND,)


def test_the_record_is_the_users_alone_and_never_in_the_folder(tmp_path: Path) -> None:
    inside = Consents(tmp_path / "program" / ".state" / "consent.json")
    with pytest.raises(ConsentError, match="OPTIMAS_STATE_DIR"):
        inside.grant(tmp_path / "program", [SEND])
    outside = Consents(tmp_path / "state" / "consent.json")
    (tmp_path / "program").mkdir()
    outside.grant(tmp_path / "program", [SEND])
    assert list((tmp_path / "program").iterdir()) == []
    if os.name == "posix":
        assert stat.S_IMODE(outside.path.stat().st_mode) == 0o600


def test_a_damaged_record_grants_nothing(consents: Consents, tmp_path: Path) -> None:
    consents.grant(tmp_path / "program", [SEND])
    consents.path.write_text("[{}]", "utf-8")
    with pytest.raises(ConsentError, match="revoke --all"):
        consents.missing(tmp_path / "program", [SEND])
    consents.revoke()
    assert consents.missing(tmp_path / "program", [SEND]) == (SEND,)


def test_nothing_in_a_command_can_hide_in_the_question() -> None:
    run = Run(commands=(("nvcc", "\x1b[2K\rharmless", "a\u202eb"),), why="on \x1b[2Kgpu\r")
    sentence = run.sentence()
    assert "\x1b" not in sentence
    assert "\r" not in sentence
    assert "\u202e" not in sentence


def test_consents_are_listed_and_revoked_from_the_command_line(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPTIMAS_STATE_DIR", str(tmp_path / "state"))
    program, other = tmp_path / "program", tmp_path / "other"
    consents = Consents.of_user()
    consents.grant(program, [SEND, RUN])
    consents.grant(other, [RUN])

    def run(*arguments: str) -> tuple[int, str]:
        found = CliRunner().invoke(app, ["consent", *arguments])
        return found.exit_code, found.output

    status, text = run("list")
    assert status == 0
    assert str(program) in text
    assert "https://api.openai.com/v1" in text
    one = consents.grants()[0].id
    status, text = run("revoke", one)
    assert status == 0
    assert text.startswith(f"revoked {one}")
    assert consents.missing(program, [SEND, RUN]) == (SEND,)
    assert run("revoke", str(program))[0] == 0
    assert [grant.folder for grant in consents.grants()] == [str(other)]
    assert run("revoke", "nothing")[0] == 2
    assert run("revoke")[0] == 2
    assert run("revoke", "--all")[0] == 0
    assert run("list") == (0, "nothing was accepted\n")


@pytest.mark.skipif(os.name != "posix", reason="processes take turns by flock")
def test_of_many_processes_no_grant_is_lost_and_nothing_revoked_comes_back(consents: Consents, tmp_path: Path) -> None:
    folders = [tmp_path.resolve() / name for name in ("one", "two", "three", "old")]
    for number in range(ROUNDS):
        consents.grant(folders[-1] / str(number), [RUN])
    processes = [
        subprocess.Popen(
            [sys.executable, "-c", REVOKES if folder == folders[-1] else GRANTS,
             str(consents.path), str(folder), str(ROUNDS)],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
        )
        for folder in folders
    ]  # fmt: skip
    for process in processes:
        assert process.stdout is not None
        assert process.stdout.readline() == "ready\n"
    for process in processes:
        assert process.stdin is not None
        process.stdin.write("go\n")
        process.stdin.flush()
    for process in processes:
        process.communicate(timeout=300)
    assert [process.returncode for process in processes] == [0] * len(processes)
    wanted = {str(folder / str(number)) for folder in folders[:-1] for number in range(ROUNDS)}
    assert {grant.folder for grant in consents.grants()} == wanted
    assert len(consents.grants()) == len(wanted)


def test_where_there_are_no_locks_consents_are_recorded_and_revoked_all_the_same(
    consents: Consents, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("optimas_lsp.profile.turn.fcntl", None)
    consents.grant(tmp_path / "program", [SEND, RUN])
    (gone, _) = consents.revoke(str(tmp_path / "program"))
    assert gone.action == SEND
    assert consents.grants() == ()


@pytest.mark.skipif(os.name != "posix", reason="processes take turns by flock")
def test_a_process_that_stopped_while_changing_the_record_is_named_as_the_reason(
    consents: Consents, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    consents.grant(tmp_path / "program", [RUN])
    real = consents_turn.turn
    monkeypatch.setattr("optimas_lsp.rewrite.consent.turn", lambda path: real(path, seconds=0.0))
    with real(consents.path.with_suffix(".turn")):
        for change in (lambda: consents.grant(tmp_path / "other", [SEND]), consents.revoke):
            with pytest.raises(ConsentError, match=r"does not go on.*end it if it was stopped"):
                change()
        assert consents.missing(tmp_path / "program", [RUN]) == ()


@pytest.mark.skipif(os.name != "posix", reason="named pipes and links")
def test_what_is_no_file_in_place_of_the_record_or_its_lock_is_not_waited_for(
    consents: Consents, tmp_path: Path
) -> None:
    consents.path.parent.mkdir()
    os.mkfifo(consents.path)
    assert consents.grants() == ()
    consents.grant(tmp_path / "program", [RUN])
    assert consents.missing(tmp_path / "program", [RUN]) == ()
    lock, elsewhere = consents.path.with_suffix(".turn"), tmp_path / "elsewhere"
    lock.unlink()
    lock.symlink_to(elsewhere)
    with pytest.raises(ConsentError, match="cannot be written"):
        consents.grant(tmp_path / "other", [RUN])
    assert not elsewhere.exists()
    lock.unlink()
    os.mkfifo(lock)
    with pytest.raises(ConsentError, match="cannot be written"):
        consents.revoke()


@pytest.mark.parametrize("lock_fits", [True, False])
def test_on_a_full_disk_nothing_is_granted_and_everything_can_be_revoked(
    consents: Consents, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, lock_fits: bool
) -> None:
    def full(*_: object) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    consents.grant(tmp_path / "program", [RUN])
    consents.grant(tmp_path / "other", [RUN])
    monkeypatch.setattr("optimas_lsp.rewrite.consent.write_atomically", full)
    if not lock_fits:
        monkeypatch.setattr("optimas_lsp.rewrite.consent.turn", full)
    for change in (
        lambda: consents.grant(tmp_path / "program", [SEND]),
        lambda: consents.revoke(str(tmp_path / "other")),
    ):
        with pytest.raises(ConsentError, match="make room; optimas consent revoke --all needs none"):
            change()
    assert len(consents.revoke()) == 2
    assert consents.grants() == ()
