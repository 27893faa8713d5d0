"""The executor that the settings name."""

from __future__ import annotations

from pathlib import Path

from optimas_lsp.config import Prove
from optimas_lsp.errors import ConfigError
from optimas_lsp.prove.executors.outcome import Executor


def make_executor(settings: Prove, folder: Path) -> Executor:
    """Where proofs run; ``folder`` is what a relative ``records`` is relative to. Raises ConfigError for what lacks."""
    if settings.executor == "ssh":
        from optimas_lsp.prove.executors.ssh import Ssh

        if not settings.host:
            raise ConfigError(
                "proofs over ssh need a host", where="prove.host", remedy="give its name, as ssh knows it"
            )
        return Ssh(settings.host, settings.ssh_options)
    if settings.executor == "slurm":
        from optimas_lsp.prove.executors.slurm import Slurm

        return Slurm(settings.partition, settings.account, settings.gpus, settings.time)
    if settings.executor == "recorded":
        from optimas_lsp.prove.executors.recorded import Recorded

        if not settings.records:
            raise ConfigError(
                "recorded proofs need a folder", where="prove.records", remedy="say where the results are"
            )
        return Recorded(folder / settings.records)
    from optimas_lsp.prove.executors.local import Local

    return Local()
