"""The roofline's arithmetic, by hand: 1 ms on a made-up chip whose peaks are round numbers."""

from __future__ import annotations

import math

import pytest

from optimas_lsp.insight.peaks import find
from optimas_lsp.insight.roofline import level_of, roofline
from optimas_lsp.profile.model import Code, Device, Kernel, Launch, MetricInfo, Profile, Samples, Tool

GHZ = 1e9
CLOCKS = {f"{unit}__cycles_elapsed.avg.per_second": GHZ for unit in ("dram", "lts", "l1tex", "smsp", "sm")}
PEAKS = {
    "dram__bytes.sum.peak_sustained": 1000.0,  # 1 TB/s
    "lts__t_bytes.sum.peak_sustained": 4000.0,
    "l1tex__t_bytes.sum.peak_sustained": 10_000.0,
    "sm__sass_thread_inst_executed_op_dfma_pred_on.sum.peak_sustained": 5000.0,  # 10 TFLOP/s
    "sm__sass_thread_inst_executed_op_ffma_pred_on.sum.peak_sustained": 10_000.0,  # 20 TFLOP/s
    "sm__sass_thread_inst_executed_op_hfma_pred_on.sum.peak_sustained": 10_000.0,  # 40 TFLOP/s
}
MILLISECOND = 1e6


def profile(*launches: dict[str, float | None], device: str = "Made-up GPU", durations: tuple[float | None, ...] = ()):
    names = sorted({name for launch in launches for name in launch})
    times = durations or tuple(MILLISECOND for _ in launches)
    kernel = Kernel(
        mangled="k",
        name="k",
        base_name="k",
        code=Code(sha256="", offset=(), sass=(), chain=(), chains=()),
        samples=Samples(),
    )
    return Profile(
        distiller="test",
        report_name="r",
        report_sha256="",
        report_bytes=0,
        tool=Tool(name="ncu", version="1"),
        device=Device(name=device, compute_capability=(9, 0)),
        metrics=tuple(MetricInfo(name=name, unit="") for name in names),
        reasons=(),
        files=(),
        kernels=(kernel,),
        launches=tuple(
            Launch(
                index=at,
                kernel=0,
                grid=(1, 1, 1),
                block=(1, 1, 1),
                duration_ns=time,
                counters=tuple(launch.get(name) for name in names),
            )
            for at, (launch, time) in enumerate(zip(launches, times, strict=True))
        ),
    )


def of(*launches: dict[str, float | None], device: str = "Made-up GPU", durations: tuple[float | None, ...] = ()):
    made = profile(*launches, device=device, durations=durations)
    return roofline(made, made.launches)


def test_bytes_work_intensity_and_ceiling_are_what_a_pencil_gives() -> None:
    """0.8 GB from DRAM in 1 ms is 80 % of 1 TB/s; 2e9 FMA are 4 GFLOP in 1 ms, 20 % of 20 TFLOP/s."""
    found = of(
        {**CLOCKS, **PEAKS, "dram__bytes.sum": 0.8e9, "lts__t_bytes.sum": 1.6e9, "l1tex__t_bytes.sum": 2e9,
         "smsp__sass_thread_inst_executed_op_ffma_pred_on.sum": 1.5e9,
         "smsp__sass_thread_inst_executed_op_fadd_pred_on.sum": 1e9}
    )  # fmt: skip
    assert found is not None
    assert found.verdict == "memory"
    assert found.precision == "fp32"
    assert found.peaks_from == "report"
    dram, l2, l1 = (found.levels[level] for level in ("dram", "l2", "l1"))
    assert dram.bytes == 0.8e9
    assert dram.achieved_pct == pytest.approx(80)
    assert (dram.bytes_per_s, dram.peak_bytes_per_s) == pytest.approx((0.8e12, 1e12))
    assert [level.achieved_pct for level in (l2, l1)] == pytest.approx([40, 20])
    assert [level.intensity for level in (dram, l2, l1)] == pytest.approx([5.0, 2.5, 2.0])
    work = found.precisions["fp32"]
    assert (work.flop, work.flop_per_s, work.achieved_pct) == pytest.approx((4e9, 4e12, 20))
    assert found.ceiling is not None
    assert found.ceiling.time_ns == pytest.approx(0.8 * MILLISECOND)
    assert found.ceiling.speedup == pytest.approx(1.25)
    assert found.ceiling.limited_by == "dram"
    assert found.ceiling.each_ns == pytest.approx({"dram": 0.8e6, "l2": 0.4e6, "l1": 0.2e6, "fp32": 0.2e6})


@pytest.mark.parametrize(
    ("operation", "weight", "precision", "peak"),
    [
        ("dadd", 1, "fp64", 1e13), ("dmul", 1, "fp64", 1e13), ("dfma", 2, "fp64", 1e13),
        ("fmul", 1, "fp32", 2e13), ("ffma", 2, "fp32", 2e13), ("ffma2", 4, "fp32", 2e13), ("fadd2", 2, "fp32", 2e13),
        ("hadd", 2, "fp16", 4e13), ("hfma", 4, "fp16", 4e13),
    ],
)  # fmt: skip
def test_an_fma_counts_two_and_packed_operations_double(
    operation: str, weight: int, precision: str, peak: float
) -> None:
    found = of({**CLOCKS, **PEAKS, f"smsp__sass_thread_inst_executed_op_{operation}_pred_on.sum": 1e9})
    assert found is not None
    assert found.precision == precision
    work = found.precisions[precision]  # type: ignore[index]
    assert work.flop == pytest.approx(weight * 1e9)
    assert work.peak_flop_per_s == pytest.approx(peak)


def test_rates_per_cycle_become_amounts_with_the_measured_clock() -> None:
    found = of(
        {
            **CLOCKS,
            **PEAKS,
            "smsp__sass_thread_inst_executed_op_ffma_pred_on.sum.per_cycle_elapsed": 1000.0,
            "dram__bytes.sum.per_second": 2e11,
        }
    )
    assert found is not None
    assert found.precisions["fp32"].flop == pytest.approx(2 * 1000 * GHZ * 1e-3)
    assert found.levels["dram"].bytes == pytest.approx(2e8)


def test_below_60_percent_of_everything_is_latency_bound() -> None:
    found = of({**CLOCKS, **PEAKS, "dram__bytes.sum": 0.59e9})
    assert found is not None
    assert found.verdict == "latency"
    assert "60 %" in found.text


def test_arithmetic_above_memory_is_compute_bound() -> None:
    found = of(
        {**CLOCKS, **PEAKS, "dram__bytes.sum": 0.65e9, "smsp__sass_thread_inst_executed_op_dfma_pred_on.sum": 4.5e9}
    )
    assert found is not None
    assert found.verdict == "compute"
    assert found.precision == "fp64"
    assert found.ceiling is not None
    assert found.ceiling.limited_by == "fp64"


def test_tensor_types_keep_their_own_peaks() -> None:
    tensor = "sm__ops_path_tensor_src_"
    found = of(
        {
            **CLOCKS,
            f"{tensor}fp16.sum": 1e11, f"{tensor}fp16.sum.peak_sustained": 1e6,
            f"{tensor}fp8_sparsity_off.sum": 2e11, f"{tensor}fp8_sparsity_off.sum.peak_sustained": 2e6,
            "sm__ops_path_tensor_op_hmma_src_fp16.sum": 1e11,
        }
    )  # fmt: skip
    assert found is not None
    work = found.precisions["tensor"]
    assert work.flop == pytest.approx(3e11)
    assert work.achieved_pct == pytest.approx(20)


def test_launches_add_up_and_their_ceilings_too() -> None:
    """A launch bound by DRAM and one bound by L2: the ceiling is the sum of both, not the maximum of sums."""
    found = of(
        {**CLOCKS, **PEAKS, "dram__bytes.sum": 0.8e9, "lts__t_bytes.sum": 0.4e9},
        {**CLOCKS, **PEAKS, "dram__bytes.sum": 0.1e9, "lts__t_bytes.sum": 3.6e9},
    )
    assert found is not None
    assert found.ceiling is not None
    assert found.ceiling.time_ns == pytest.approx(0.8e6 + 0.9e6)
    assert found.ceiling.limited_by == "l2"
    assert found.levels["dram"].achieved_pct == pytest.approx(45)
    assert found.ceiling.work_speedup == pytest.approx(2 / 0.9)


def test_a_level_missing_in_one_launch_is_unknown_not_half() -> None:
    found = of({**CLOCKS, **PEAKS, "dram__bytes.sum": 0.8e9}, {**CLOCKS, **PEAKS, "dram__bytes.sum": None})
    assert found is not None
    assert found.levels["dram"].bytes is None


def test_not_a_number_is_not_zero() -> None:
    found = of({**CLOCKS, **PEAKS, "dram__bytes.sum": math.nan, "lts__t_bytes.sum": 1e9})
    assert found is not None
    assert found.levels["dram"].bytes is None
    assert found.levels["dram"].achieved_pct is None


def test_the_ceiling_never_exceeds_the_measured_time() -> None:
    found = of({**CLOCKS, **PEAKS, "dram__bytes.sum": 1.05e9})
    assert found is not None
    assert found.ceiling is not None
    assert found.ceiling.speedup == 1.0
    assert found.ceiling.time_ns == MILLISECOND


def test_without_peaks_in_the_report_the_table_serves_and_says_so() -> None:
    found = of({"dram__bytes.sum": 2.4e9}, device="NVIDIA H200")
    assert found is not None
    assert found.peaks_from == "table"
    assert found.levels["dram"].achieved_pct == pytest.approx(50)
    assert "not from the report" in found.text


def test_an_unknown_gpu_without_peaks_has_rates_but_no_ceiling() -> None:
    found = of({"dram__bytes.sum": 2.4e9})
    assert found is not None
    assert found.ceiling is None
    assert found.levels["dram"].bytes_per_s == pytest.approx(2.4e12)
    assert found.levels["dram"].achieved_pct is None


def test_only_utilisations_still_give_a_verdict() -> None:
    """A report made with the basic set has percentages of peak and no bytes."""
    found = of(
        {
            "gpu__compute_memory_throughput.avg.pct_of_peak_sustained_elapsed": 47.0,
            "gpu__dram_throughput.avg.pct_of_peak_sustained_elapsed": 47.0,
            "sm__throughput.avg.pct_of_peak_sustained_elapsed": 26.0,
        }
    )
    assert found is not None
    assert found.verdict == "latency"
    assert found.levels["dram"].bytes is None
    assert found.levels["dram"].achieved_pct == pytest.approx(47)
    assert found.ceiling is not None
    assert found.ceiling.speedup == pytest.approx(1 / 0.47)


def test_the_limiting_counter_is_the_part_that_equals_the_throughput() -> None:
    found = of(
        {
            "gpu__compute_memory_throughput.avg.pct_of_peak_sustained_elapsed": 89.5,
            "gpu__compute_memory_access_throughput.avg.pct_of_peak_sustained_elapsed": 89.5,
            "lts__xbar2lts_cycles_active.avg.pct_of_peak_sustained_elapsed": 89.5,
            "dram__cycles_active.avg.pct_of_peak_sustained_elapsed": 23.0,
        }
    )
    assert found is not None
    assert found.memory_limiter == "lts__xbar2lts_cycles_active.avg.pct_of_peak_sustained_elapsed"
    assert level_of(found.memory_limiter) == "l2"
    assert "(L2)" in found.text


def test_nothing_measured_is_no_roofline() -> None:
    assert of({"launch__grid_size": 1.0}) is None
    assert of({"dram__bytes.sum": 1e9}, durations=(None,)) is None


@pytest.mark.parametrize(
    ("device", "row"),
    [("NVIDIA H200", "H200"), ("NVIDIA H100 80GB HBM3", "H100 SXM"), ("NVIDIA A100-SXM4-80GB", "A100 80 GB"),
     ("NVIDIA A100-PCIE-40GB", "A100 40 GB"), ("Tesla V100-SXM2-16GB", "V100"), ("NVIDIA GeForce RTX 4090", "RTX 4090"),
     ("NVIDIA L40S", "L40S"), ("NVIDIA B200", "B200"), ("NVIDIA GH200 480GB", "H200")],
)  # fmt: skip
def test_devices_are_found_by_name(device: str, row: str) -> None:
    found = find(device)
    assert found is not None
    assert found.name == row


def test_a_gpu_that_is_not_in_the_table_is_not_guessed() -> None:
    assert find("NVIDIA GeForce GTX 1080") is None
    assert find("NVIDIA GeForce RTX 4090 D") is None


USED = {
    **CLOCKS,
    **PEAKS,
    "dram__bytes_read.sum": 0.3e9,
    "dram__bytes_write.sum": 0.5e9,
    "lts__t_sectors_srcunit_tex_aperture_device_op_read_lookup_miss.sum": 0.2e9 / 32,
    "l1tex__t_sectors_pipe_lsu_mem_global_op_ld.sum": 1e9 / 32,
    "l1tex__t_sectors_pipe_lsu_mem_global_op_st.sum": 1e9 / 32,
    "smsp__sass_average_data_bytes_per_sector_mem_global_op_ld.ratio": 32.0,
    "smsp__sass_average_data_bytes_per_sector_mem_global_op_st.ratio": 6.4,
    "l1tex__t_sectors_pipe_lsu_mem_local_op_ld.sum": 0.0,
    "l1tex__t_sectors_pipe_lsu_mem_local_op_st.sum": 0.0,
    "l1tex__t_sectors_pipe_lsu_mem_global_op_atom.sum": 0.0,
    "l1tex__t_sectors_pipe_lsu_mem_global_op_red.sum": 0.0,
    "l1tex__t_sectors_pipe_tex_mem_texture.sum": 0.0,
    "l1tex__t_sectors_pipe_tex_mem_surface_op_ld.sum": 0.0,
    "l1tex__t_sectors_pipe_tex_mem_surface_op_st.sum": 0.0,
}
LDGSTS = "sm__sass_l1tex_t_sectors_pipe_lsu_mem_global_op_ldgsts_cache_access.sum"
TMA = "l1tex__m_l1tex2xbar_write_sectors_mem_dshared_op_tma_st.sum"


@pytest.mark.parametrize(
    ("changed", "useful"),
    [
        ({}, 0.4e9),  # 0.2 GB written of 0.5, 0.2 GB read for the multiprocessors of 0.3
        ({"smsp__sass_average_data_bytes_per_sector_mem_global_op_ld.ratio": 3.2}, 0.3e9),
        ({"smsp__sass_average_data_bytes_per_sector_mem_global_op_ld.ratio": 3.2, LDGSTS: 1.0}, 0.4e9),
        ({"l1tex__t_sectors_pipe_lsu_mem_local_op_st.sum": 0.1e9 / 32}, 0.5e9),
        ({"l1tex__t_sectors_pipe_lsu_mem_local_op_st.sum": 9e9 / 32}, 0.7e9),
        ({TMA: 1.0}, None),
        ({"l1tex__t_sectors_pipe_lsu_mem_global_op_red.sum": None}, None),
        ({"smsp__sass_average_data_bytes_per_sector_mem_global_op_st.ratio": None}, None),
        ({"lts__t_sectors_srcunit_tex_aperture_device_op_read_lookup_miss.sum": None}, None),
    ],
)
def test_useful_bytes_are_those_that_were_asked_for(changed: dict[str, float | None], useful: float | None) -> None:
    found = of({**USED, **changed})
    assert found is not None
    assert found.ceiling is not None
    assert found.ceiling.work_speedup == pytest.approx(1 / 0.8)
    assert found.ceiling.useful_speedup == (None if useful is None else pytest.approx(1e9 / useful))
