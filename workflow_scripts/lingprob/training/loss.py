"""Cross-entropy of a linear layer's softmax, a chunk of positions at a time.

The logits of all positions are never in memory at one time, and their gradient is made where they
are: the chunk's exponentials are computed once, and serve loss and gradient.
"""

from __future__ import annotations

from typing import Any

import torch

# Positions a chunk: on a CPU the logits stay in its cache, on a GPU its products are large enough.
CHUNK = {"cpu": 256, "cuda": 8192}


def summed_cross_entropy(
    hidden: torch.Tensor,
    weight: torch.Tensor,
    labels: torch.Tensor,
    dtype: torch.dtype = torch.float32,
    chunk: int | None = None,
) -> torch.Tensor:
    """Return the sum over positions of -ln softmax(hidden @ weight.T)[label], float32 ().

    Args:
        hidden: (n, width).
        weight: (vocabulary, width).
        labels: int64 (n,).
        dtype: of the products; softmax and sums are float32.
        chunk: positions a chunk; by device if None.
    """
    chunk = chunk or CHUNK[hidden.device.type]
    with torch.autocast(hidden.device.type, enabled=False):
        return _SummedCrossEntropy.apply(hidden, weight, labels, dtype, chunk)


class _SummedCrossEntropy(torch.autograd.Function):
    @staticmethod
    def forward(
        context: Any,
        hidden: torch.Tensor,
        weight: torch.Tensor,
        labels: torch.Tensor,
        dtype: torch.dtype,
        chunk: int,
    ) -> torch.Tensor:
        inputs, matrix = hidden.to(dtype), weight.to(dtype)
        with_gradient = any(context.needs_input_grad)
        if with_gradient:
            of_hidden = torch.empty_like(inputs)
            of_weight = torch.zeros(weight.shape, dtype=torch.float32, device=weight.device)
        total = torch.zeros((), dtype=torch.float32, device=hidden.device)
        for start in range(0, len(inputs), chunk):
            x, label = inputs[start : start + chunk], labels[start : start + chunk, None]
            logits = (x @ matrix.T).float()
            logits.sub_(logits.amax(dim=1, keepdim=True))
            chosen = logits.gather(1, label)
            norm = logits.exp_().sum(dim=1, keepdim=True)
            total += (norm.log() - chosen).sum()
            if with_gradient:
                logits.div_(norm).scatter_add_(1, label, torch.full_like(chosen, -1.0))
                of_logits = logits.to(dtype)
                torch.mm(of_logits, matrix, out=of_hidden[start : start + chunk])
                if dtype == torch.float32:
                    of_weight.addmm_(of_logits.T, x)
                else:
                    of_weight.add_(of_logits.T @ x)
        if with_gradient:
            context.save_for_backward(of_hidden.to(hidden.dtype), of_weight.to(weight.dtype))
        return total

    @staticmethod
    def backward(context: Any, gradient: torch.Tensor) -> tuple:
        of_hidden, of_weight = context.saved_tensors
        # Made for this call alone, and used once: scaled where they are.
        return of_hidden.mul_(gradient), of_weight.mul_(gradient), None, None, None
