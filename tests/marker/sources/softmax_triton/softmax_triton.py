"""Row-wise softmax in Triton: three passes over every row, a block of columns at a time.

usage: python3 softmax_triton.py small|default|large | python3 softmax_triton.py ROWS COLUMNS
"""

import hashlib
import sys

import torch
import triton
import triton.language as tl

SIZES = {"small": (256, 1000), "default": (8192, 8000), "large": (12288, 10000)}
BLOCK = 256


@triton.jit
def softmax_kernel(x_ptr, y_ptr, columns, BLOCK: tl.constexpr):
#@ lens("memory-bound")
    """Written after profiling: everything below moved."""
    row = tl.program_id(0)
    x_row = x_ptr + row.to(tl.int64) * columns
    y_row = y_ptr + row.to(tl.int64) * columns
    offsets = tl.arange(0, BLOCK)

    largest = -float("inf")
    for start in range(0, columns, BLOCK):
        mask = start + offsets < columns
        x = tl.load(x_row + start + offsets, mask=mask, other=-float("inf"))
        #@ diag("long_scoreboard", "22%")
        largest = tl.maximum(largest, tl.max(x, axis=0))

    total = 0.0
    for start in range(0, columns, BLOCK):
        mask = start + offsets < columns
        x = tl.load(x_row + start + offsets, mask=mask, other=-float("inf"))
        #@ diag("long_scoreboard", "23%")
        total += tl.sum(tl.exp(x - largest), axis=0)
        #@ diag("long_scoreboard", "23%") hint("24 % long_scoreboard")

    for start in range(0, columns, BLOCK):
        mask = start + offsets < columns
        x = tl.load(x_row + start + offsets, mask=mask, other=0.0)
        #@ diag("long_scoreboard", "46%")
        tl.store(y_row + start + offsets, tl.exp(x - largest) / total, mask=mask)
        #@ diag("long_scoreboard", "46%") hint("48 % long_scoreboard")


def make_input(rows, columns):
    """Numbers between -4 and 4 from a linear congruential generator, one stream a column."""
    modulus = 2147483647
    state = (torch.arange(columns, dtype=torch.int64) * 69621 + 12345) % modulus
    table = torch.empty((rows, columns), dtype=torch.float32)
    for row in range(rows):
        state = state * 48271 % modulus
        table[row] = state.to(torch.float32) / modulus * 8.0 - 4.0
    return table


def main():
    arguments = sys.argv[1:] or ["default"]
    if len(arguments) == 2:
        rows, columns = int(arguments[0]), int(arguments[1])
    elif arguments[0] in SIZES:
        rows, columns = SIZES[arguments[0]]
    else:
        print(__doc__, file=sys.stderr)
        return 2

    host = make_input(rows, columns)
    x = host.cuda()
    y = torch.full_like(x, float("nan"))
    times = []
    for _ in range(5):
        begin, end = torch.cuda.Event(enable_timing=True), torch.cuda.Event(enable_timing=True)
        begin.record()
        softmax_kernel[(rows,)](x, y, columns, BLOCK=BLOCK, num_warps=1)
        end.record()
        end.synchronize()
        times.append(begin.elapsed_time(end))
    result = y.cpu()

    sampled = range(0, rows, max(1, rows // 256))
    expected = torch.softmax(host[list(sampled)].double(), dim=1)
    difference = (result[list(sampled)].double() - expected).abs() / expected
    passed = bool(torch.isfinite(result).all()) and bool((difference < 1e-5).all())

    print(f"rows {rows} columns {columns}")
    print(f"time softmax_kernel: {sorted(times)[len(times) // 2] * 1e3:.3f} us")
    print(f"checksum: {hashlib.sha256(result.numpy().tobytes()).hexdigest()[:16]}")
    print(f"self-check: {'passed' if passed else 'failed'}")
    return 0 if passed else 1


if __name__ == "__main__":
    sys.exit(main())
