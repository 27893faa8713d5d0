"""``[engine]`` as a configuration of Parsl, the only thing that schedules: threads here, or pilot jobs on a cluster."""

from __future__ import annotations

import inspect
import shlex
import shutil
import sys
import threading
from collections.abc import Callable, Mapping
from concurrent.futures import Future
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from optimas_lsp.campaign.design import EngineEntry
from optimas_lsp.campaign.extra import load
from optimas_lsp.campaign.process import CHILDREN, NotAcceptedError
from optimas_lsp.campaign.results import ResultsError
from optimas_lsp.errors import ConfigError, OptimasError

HOPELESS = (NotAcceptedError, ResultsError)
"""Failures that would be the same on another try: the campaign stops with them."""

CLOSING_S = 60.0
"""Parsl is given this long to end what it started (seconds)."""

FEW_CORES = 0.01
"""Cores that Parsl counts for a worker, unless ``options`` says otherwise: the campaign's file says how many workers
there are, and Parsl would start fewer on a node with fewer cores."""

Perform = Callable[[dict[str, Any]], dict[str, Any]]


class EngineError(OptimasError):
    """Parsl cannot go on: no block of workers starts or lives. What is finished is kept."""


@dataclass
class Engine:
    """A started Parsl; ``close`` ends every process of it."""

    entry: EngineEntry
    kernel: Any
    workers: int
    gpus: tuple[str, ...] = ()
    """Of each worker of a node, in the order of their ranks; empty: nobody chooses one."""

    @classmethod
    def start(cls, entry: EngineEntry, folder: Path, *, where: Path | str = "campaign.toml") -> Engine:
        """Start it, its own files below ``folder``; raises MissingPackageError, ConfigError or EngineError."""
        parsl = load("parsl", "running a campaign")
        config = configuration(entry, folder, where=where)
        CHILDREN.open()
        try:
            kernel = parsl.DataFlowKernel(config)
        except (OSError, RuntimeError, ValueError) as error:
            raise EngineError(f"Parsl cannot be started: {error}", where=where, remedy="see [engine]") from None
        [executor] = config.executors
        return cls(entry, kernel, workers_of(entry), tuple(getattr(executor, "available_accelerators", ())))

    @property
    def outstanding(self) -> int:
        """Experiments that are handed over at once: enough to keep workers busy, few enough to stay small."""
        return self.entry.outstanding or 2 * self.workers

    def submit(self, perform: Perform, task: dict[str, Any]) -> Future[dict[str, Any]]:
        """Hand over one experiment."""
        return self.kernel.submit(perform, app_args=(task,), executors="all", cache=False, ignore_for_cache=None,
                                  app_kwargs={})  # fmt: skip

    def broken(self, error: BaseException) -> bool:
        """Whether this failure is the engine's and not the experiment's."""
        return isinstance(error, load("parsl.executors.errors", "running a campaign").ExecutorError)

    def check(self) -> None:
        """Raise EngineError when the process that Parsl's workers report to is gone; Parsl itself would wait on."""
        for executor in self._pilots():
            if executor.interchange_proc.poll() is not None:
                raise EngineError(
                    "Parsl cannot go on: its interchange process is gone",
                    remedy="what is finished is kept: start the campaign again",
                )

    def close(self) -> None:
        """End what runs here, then Parsl with everything it started."""
        CHILDREN.end_all()
        limit = CLOSING_S
        for executor in self._pilots():
            if executor.interchange_proc.poll() is not None and executor.provider is not None:
                executor.provider.cancel(list(executor.blocks_to_job_id.values()))  # nobody else would end its jobs
                limit = 5.0  # Parsl would ask the dead process
        ending = threading.Thread(target=self.kernel.cleanup, daemon=True)
        ending.start()
        ending.join(limit)

    def _pilots(self) -> list[Any]:
        """The executors with an interchange that runs or ran."""
        found = (each for each in self.kernel.executors.values() if hasattr(each, "interchange_proc"))
        return [each for each in found if each.interchange_proc is not None]


def workers_of(entry: EngineEntry) -> int:
    """Experiments that can run at once when every block is there."""
    per_node = len(entry.gpus) * entry.workers_per_gpu if entry.gpus else entry.workers
    if entry.kind == "threads":
        return entry.workers
    blocks, nodes = (int(entry.provider.get(key, 1)) for key in ("max_blocks", "nodes_per_block"))
    return per_node * max(1, blocks) * max(1, nodes)


def configuration(entry: EngineEntry, folder: Path, *, where: Path | str = "campaign.toml") -> Any:
    """The ``parsl.Config``; raises ConfigError for what Parsl does not know, MissingPackageError without Parsl."""
    parsl_config = load("parsl.config", "running a campaign")
    executors = load("parsl.executors", "running a campaign")
    if entry.kind == "threads":
        for key in ("gpus", "provider", "options"):
            if getattr(entry, key):
                raise ConfigError(
                    f"'engine.{key}' is for kind = \"htex\"", where=where, remedy="threads take turns on this GPU"
                )
        executor = executors.ThreadPoolExecutor(label="experiments", max_threads=entry.workers)
        return parsl_config.Config(
            executors=[executor],
            run_dir=str(folder / "parsl"),
            retries=entry.retries,
            retry_handler=_cost,
            strategy="none",
            initialize_logging=False,
        )
    gpus = entry.gpus * entry.workers_per_gpu  # every GPU gets its first worker before one gets its second
    given: dict[str, Any] = {
        "label": "experiments",
        "max_workers_per_node": len(gpus) or entry.workers,
        "cores_per_worker": FEW_CORES,
        "provider": _provider(entry.provider, where),
        **_scripts(),
        **({"available_accelerators": list(gpus)} if gpus else {}),
        **entry.options,
    }
    executor = _made(executors.HighThroughputExecutor, given, "engine.options", where)
    return parsl_config.Config(
        executors=[executor], run_dir=str(folder / "parsl"), retries=entry.retries, retry_handler=_cost
    )


_APART = "import os, sys; os.setsid(); os.execvp(sys.argv[1], sys.argv[1:])"
"""Starts a program in a session of its own, so that a Ctrl-C on the terminal does not reach it before us."""


def _scripts() -> dict[str, Any]:
    """How Parsl's own programs are started: by path where nobody activated the environment they are installed in."""
    found = Path(sys.executable).parent
    own = not shutil.which("process_worker_pool.py") and (found / "process_worker_pool.py").is_file()
    interchange = str(found / "interchange.py") if own else "interchange.py"
    given: dict[str, Any] = {"interchange_launch_cmd": [sys.executable, "-c", _APART, interchange]}
    if own:
        module = load("parsl.executors.high_throughput.executor", "running a campaign")
        plain = shlex.quote(str(found / "process_worker_pool.py")).replace("{", "{{").replace("}", "}}")
        given["launch_cmd"] = str(module.DEFAULT_LAUNCH_CMD).replace("process_worker_pool.py", plain, 1)
    return given


def _provider(table: Mapping[str, Any], where: Path | str) -> Any:
    given = dict(table)
    kind = str(given.pop("kind", "LocalProvider"))
    launcher = given.pop("launcher", None)
    if launcher is not None:
        given["launcher"] = _class("parsl.launchers", str(launcher), "engine.provider.launcher", where)()
    return _made(_class("parsl.providers", kind, "engine.provider.kind", where), given, "engine.provider", where)


def _class(module: str, name: str, key: str, where: Path | str) -> Any:
    found = load(module, "running a campaign")
    if name not in found.__all__:
        raise ConfigError(
            f"'{key}': Parsl has no {name}", where=where, remedy=f"choose of: {', '.join(sorted(set(found.__all__)))}"
        )
    return getattr(found, name)


def _made(kind: Any, given: dict[str, Any], key: str, where: Path | str) -> Any:
    """An object of Parsl's; what its constructor does not take is told by key."""
    known = set(inspect.signature(kind.__init__).parameters) - {"self"}
    for name in given:
        if name not in known:
            raise ConfigError(
                f"'{key}.{name}': Parsl's {kind.__name__} does not take it",
                where=where,
                remedy=f"it takes: {', '.join(sorted(known))}",
            )
    wrong = load("typeguard", "running a campaign").TypeCheckError
    try:
        return kind(**given)
    except (wrong, TypeError, ValueError) as error:
        raise ConfigError(f"'{key}': {str(error).splitlines()[0]}", where=where) from None


def _cost(error: Exception, _task: Any) -> float:
    """A lost process or node costs one retry; what would fail again, or was ended with the campaign, all of them."""
    return 1e9 if isinstance(error, HOPELESS) or CHILDREN.closed else 1.0
