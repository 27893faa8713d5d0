"""A real VS Code with the packaged extension in it, for one test session; see install_code_server.sh."""

from __future__ import annotations

import json
import os
import shutil
import signal
import socket
import subprocess
import sys
import urllib.error
import urllib.request
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[2]
CLIENT = ROOT / "vscode-client"
DRIVER = Path(__file__).with_name("drive.mjs")


def installed() -> Path | None:
    """The folder install_code_server.sh filled, or None when it has not run."""
    cache = os.environ.get("XDG_CACHE_HOME") or str(Path.home() / ".cache")
    folder = Path(os.environ.get("OPTIMAS_VSCODE_CACHE") or Path(cache) / "optimas-lsp-tests" / "vscode")
    return folder if any(folder.glob("complete-*")) else None


def browser() -> str | None:
    """A Chromium on PATH."""
    return next(
        (found for name in ("chromium", "chromium-browser", "google-chrome") if (found := shutil.which(name))), None
    )


def package(into: Path, *, server: bool = False, dependencies: bool = False) -> Path:
    """The extension packaged into ``into``, with the server's wheel if ``server``; fetches Node packages if absent.

    With ``dependencies`` it carries what the server needs, too.
    """
    if not (CLIENT / "node_modules").is_dir():
        subprocess.run(
            ["npm", "ci", "--no-audit", "--no-fund", "--loglevel=error"], cwd=CLIENT, check=True, timeout=600
        )
    more = ["--with-dependencies"] if dependencies else [] if server else ["--no-server"]
    make = ["npm", "run", "--silent", "package", "--", *more]
    ran = subprocess.run(
        make, cwd=CLIENT, check=False, timeout=600, env={**os.environ, "PYTHON": sys.executable}, capture_output=True
    )
    assert ran.returncode == 0, (ran.stdout + ran.stderr).decode("utf-8", "replace")
    made = max(CLIENT.glob("*.vsix"), key=lambda path: path.stat().st_mtime)
    return Path(shutil.copy(made, into))


@dataclass(frozen=True)
class Editor:
    """One running code-server: where it listens and where its user data is."""

    cache: Path
    url: str
    data: Path

    def drive(
        self, scenario: str, workspace: Path, shots: Path, *, timeout: float = 600, **options: Any
    ) -> dict[str, Any]:
        """Run one scenario of drive.mjs in a headless Chromium; what it saw, as plain data."""
        shots.mkdir(parents=True, exist_ok=True)
        task = {
            "scenario": scenario,
            "modules": str(self.cache),
            "browser": browser(),
            "url": self.url,
            "workspace": str(workspace),
            "shots": str(shots),
            "options": options,
        }
        ran = subprocess.run(
            ["node", str(DRIVER)], input=json.dumps(task), capture_output=True, text=True, timeout=timeout, check=False
        )
        assert ran.returncode == 0, f"the scenario '{scenario}' failed:\n{ran.stderr}\nscreenshots are in {shots}"
        seen: dict[str, Any] = json.loads(ran.stdout)
        return seen

    def log(self) -> str:
        """Everything the extension wrote to its output channel."""
        logs = sorted(self.data.glob("logs/*/exthost*/optimas-lsp.optimas/*.log"))
        return "\n".join(path.read_text("utf-8") for path in logs)


@contextmanager
def editor(
    folder: Path,
    settings: dict[str, Any] | None = None,
    *,
    restricted: bool = False,
    checkout: bool = True,
    wheel: bool = False,
) -> Iterator[Editor]:
    """A code-server in ``folder`` with the packaged extension and, with ``checkout``, the server of this checkout.

    With ``wheel`` the package carries the server's wheel, as a released one does.
    With ``restricted`` a folder is untrusted until someone trusts it, as VS Code does; otherwise all are trusted.
    """
    cache = installed()
    assert cache is not None
    data, extensions = folder / "data", folder / "extensions"
    chosen = {
        "workbench.startupEditor": "none",
        "workbench.tips.enabled": False,
        "editor.minimap.enabled": False,
        "security.workspace.trust.startupPrompt": "never",
        "security.workspace.trust.banner": "never",
        "telemetry.telemetryLevel": "off",
        **(settings or {}),
    }
    # A path of this machine is a setting of the machine: code-server is a remote, which ignores it among the user's.
    machine = {"optimas.python": chosen.pop("optimas.python", sys.executable)}
    for place, values in (("User", chosen), ("Machine", machine)):
        (data / place).mkdir(parents=True)
        (data / place / "settings.json").write_text(json.dumps(values), "utf-8")
    environment = {
        **os.environ,
        "PYTHONPATH": str(ROOT) if checkout else "",
        "XDG_CONFIG_HOME": str(folder / "config"),
        "XDG_DATA_HOME": str(folder / "share"),
        "XDG_CACHE_HOME": str(folder / "cache"),
        "XDG_STATE_HOME": str(folder / "state"),
        "OPTIMAS_DATA_DIR": str(folder / "attempts"),
    }
    program = str(cache / "node_modules" / ".bin" / "code-server")
    trust = [] if restricted else ["--disable-workspace-trust"]
    places = ["--user-data-dir", str(data), "--extensions-dir", str(extensions)]
    install = [program, *places, "--install-extension", str(package(folder, server=wheel))]
    subprocess.run(install, env=environment, check=True, timeout=300, capture_output=True)
    port = _free_port()
    quiet = ["--auth", "none", "--disable-telemetry", "--disable-update-check", "--disable-getting-started-override"]
    process = subprocess.Popen(
        [program, *places, *quiet, *trust, "--bind-addr", f"127.0.0.1:{port}"],
        env=environment,
        stdout=(folder / "code-server.log").open("wb"),
        stderr=subprocess.STDOUT,
        start_new_session=True,
    )
    url = f"http://127.0.0.1:{port}"
    try:
        _wait(lambda: _answers(url) or process.poll() is not None)
        assert process.poll() is None, (folder / "code-server.log").read_text("utf-8", "replace")
        yield Editor(cache, url, data)
    finally:
        os.killpg(process.pid, signal.SIGTERM)
        process.wait(60)


def _free_port() -> int:
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        port: int = listener.getsockname()[1]
        return port


def _answers(url: str) -> bool:
    try:
        with urllib.request.urlopen(f"{url}/healthz", timeout=10) as reply:  # noqa: S310 (our own loopback address)
            return reply.status == 200
    except (urllib.error.URLError, ConnectionError, TimeoutError):
        return False


def _wait(ready: Callable[[], bool], seconds: float = 180) -> None:
    """Polls until ``ready``; a server that is not up in time fails the test that asked for it."""
    import threading
    import time

    end = time.monotonic() + seconds
    while not ready():
        assert time.monotonic() < end, f"code-server did not answer within {seconds} s"
        threading.Event().wait(0.05)
