"""The matrix: every experiment of a campaign, in the order in which they are started."""

from __future__ import annotations

import itertools
from collections import Counter
from dataclasses import dataclass

from optimas_lsp.campaign.design import BackendEntry, DeviceEntry, Loaded, Program
from optimas_lsp.campaign.experiment import Axes, Experiment, content_of, key_of, unchanged_of
from optimas_lsp.course.request import Request


@dataclass(frozen=True)
class Plan:
    """All experiments. Whole repetitions come one after another, so that a campaign that ends early is balanced."""

    loaded: Loaded
    experiments: tuple[Experiment, ...]

    @classmethod
    def of(cls, loaded: Loaded) -> Plan:
        """Cross everything; reads the programs' files and reports for the keys. Raises ConfigError, BundleError."""
        campaign, design = loaded.campaign, loaded.campaign.design
        content = {each.entry.name: content_of(each, loaded.results) for each in loaded.programs}
        found: list[Experiment] = []
        for repetition in range(1, design.repetitions + 1):
            for device, backend in itertools.product(campaign.device, campaign.backend):
                for program in loaded.programs:
                    name = program.entry.name
                    found += _of_program(loaded, program, backend, device, repetition=repetition, content=content[name])
        return cls(loaded, tuple(found))

    def counts(self) -> dict[str, int]:
        """Different values on each axis."""
        names = ("program", "kernel", "backend", "evidence", "input", "repetition", "device")
        values = {name: Counter(getattr(each.axes, name) for each in self.experiments) for name in names}
        kernels = len({(each.axes.program, each.axes.kernel) for each in self.experiments})
        return {name: kernels if name == "kernel" else len(values[name]) for name in names}


def _of_program(
    loaded: Loaded, program: Program, backend: BackendEntry, device: DeviceEntry, *, repetition: int, content: str
) -> list[Experiment]:
    design = loaded.campaign.design
    settings = loaded.settings(program, backend, device)
    plain, unchanged = settings.model_dump(mode="json"), unchanged_of(content, device.name, settings)
    found: list[Experiment] = []
    for input_, kernel, evidence in itertools.product(
        program.inputs(design.inputs), program.entry.kernels, design.evidence
    ):
        axes = Axes(
            program=program.entry.name,
            kernel=kernel,
            backend=backend.name,
            model=backend.model,
            evidence=evidence,
            input=input_,
            repetition=repetition,
            device=device.name,
        )
        request = Request(
            source=program.source.absolute(),
            profile=program.profile.absolute(),
            folder=program.folder.absolute(),
            kernel=kernel,
            settings=plain,
            evidence=evidence,
            past=design.past,
            build=design.build,
            prove=design.prove,
            input=input_,
        )
        key = key_of(axes, content, settings, request)
        found.append(Experiment(key, axes, request, unchanged))
    return found
