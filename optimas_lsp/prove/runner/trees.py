"""A working copy after its build: no run may change it, and what runs leave in it is removed before the next one."""

from __future__ import annotations

import contextlib
import hashlib
import os
import shutil
import stat
from pathlib import Path
from typing import Dict, Sequence, Tuple

State = Tuple[int, int, int, int, int]


class TreeChangedError(Exception):
    """A file of a working copy is not what was built; the message says which, ``side`` whose copy it is."""

    def __init__(self, message: str, side: str = "") -> None:
        super().__init__(message)
        self.side = side


class Tree:
    """The files of one working copy, as they are now. Files that match ``outputs`` (glob patterns) may change.

    A change is seen in size, mode, inode and the times of content and inode, of which a program without the right to
    set the system's clock cannot forge the last. Content is read only for the digest.
    """

    def __init__(self, folder: Path, outputs: Sequence[str]) -> None:
        self.folder = Path(folder)
        self._outputs = tuple(outputs)
        self._files, self._folders = self._look()

    def _look(self) -> tuple[Dict[str, State], Dict[str, int]]:
        """The state of every file and the mode of every folder, the outer ones first."""
        free = {str(p) for pattern in self._outputs for p in self.folder.glob(pattern)}
        files: Dict[str, State] = {}
        folders: Dict[str, int] = {}
        if self.folder.is_dir():
            folders[str(self.folder)] = os.lstat(str(self.folder)).st_mode
        for top, below, names in os.walk(str(self.folder)):
            for name in below + names:
                path = os.path.join(top, name)  # noqa: PTH118  (thousands of files, before every run)
                now = os.lstat(path)
                if stat.S_ISDIR(now.st_mode):
                    folders[path] = now.st_mode
                elif path not in free:
                    files[path] = _state(path, now)
        return files, folders

    def digest(self) -> str:
        """SHA-256 over names and contents."""
        state = hashlib.sha256()
        for path in sorted(self._files):
            state.update(os.path.relpath(path, str(self.folder)).encode("utf-8", "surrogateescape") + b"\0")
            if Path(path).is_file():
                with Path(path).open("rb") as stream:
                    content = hashlib.sha256()
                    for block in iter(lambda: stream.read(1 << 20), b""):
                        content.update(block)
                state.update(content.digest())
        return state.hexdigest()

    def changed(self) -> bool:
        """True when a file or folder is new, gone or not the same."""
        return self._look() != (self._files, self._folders)

    def restore(self, side: str) -> None:
        """Remove files and folders that were not there, and give the others their folders as they were.

        Raises TreeChangedError when a file that was there is not the same.
        """
        for path, mode in self._folders.items():  # what one side does to a folder must not stop the other
            _as_it_was(path, mode)
        files, folders = self._look()
        for path, before in self._files.items():
            if files.get(path) != before:
                name = os.path.relpath(path, str(self.folder))
                raise TreeChangedError(
                    f"a run changed {name} in the {side}'s folder; what a program writes belongs into target.outputs",
                    side,
                )
        for path in set(files) - set(self._files):
            Path(path).unlink()
        for path in sorted(set(folders) - set(self._folders)):
            shutil.rmtree(path, ignore_errors=True)


def _as_it_was(path: str, mode: int) -> None:
    with contextlib.suppress(OSError):
        if os.path.lexists(path) and not stat.S_ISDIR(os.lstat(path).st_mode):  # such as a link to the other side's
            Path(path).unlink()
        if not os.path.lexists(path):
            Path(path).mkdir()
        if os.lstat(path).st_mode != mode:
            Path(path).chmod(stat.S_IMODE(mode))


def file_state(path: Path) -> State | None:
    """What a change of one file shows in; None when there is no such file."""
    try:
        return _state(str(path), os.lstat(str(path)))
    except OSError:
        return None


def _state(path: str, now: os.stat_result) -> State:
    if stat.S_ISLNK(now.st_mode):  # large data is linked: the data itself must stay, too
        with contextlib.suppress(OSError):
            now = Path(path).stat()
    return now.st_size, now.st_mtime_ns, now.st_ctime_ns, now.st_ino, now.st_mode
