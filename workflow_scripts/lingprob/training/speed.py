"""Model-FLOPs utilisation: what share of a device's peak the training of a model uses."""

from __future__ import annotations

import time

import torch

# Dense peak in half precision as the maker states it, FLOP/s, by a part of the device's name.
PEAKS = {
    "H200": 989e12,
    "H100": 989e12,
    "A100": 312e12,
    "L40S": 362e12,
    "L4": 121e12,
    "A40": 150e12,
    "RTX 8000": 130.5e12,
    "V100": 125e12,
    "T4": 65e12,
}
SIDE, TRIALS = 1024, 5


def peak_flops(device: torch.device, dtype: torch.dtype) -> float | None:
    """Return the device's peak in FLOP/s, or None for a GPU that PEAKS does not have.

    A CPU's is measured: the fastest of a few products in `dtype` on the threads in use, by CPU
    time, so that other work on the machine does not count.
    """
    if device.type == "cuda":
        name = torch.cuda.get_device_name(device)
        return next((peak for part, peak in PEAKS.items() if part in name), None)
    left, right = (torch.rand(SIDE, SIDE).to(dtype) for _ in range(2))
    seconds = []
    for _ in range(TRIALS):
        started = time.process_time()
        left @ right
        seconds.append((time.process_time() - started) / torch.get_num_threads())
    return 2 * SIDE**3 / min(seconds)
