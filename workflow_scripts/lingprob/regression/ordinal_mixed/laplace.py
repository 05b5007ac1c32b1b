r"""Laplace's approximation of the likelihood of a cumulative probit model with crossed effects.

Judgment y of item j by participant i is category 0 to K - 1:

    P(y <= k) = Phi(v_i + exp(s_i) tau_k - eta_j),    eta_j = x_j beta + w_j,

with w_j, v_i and s_i normal with standard deviations sd. The effects are u = (w, v, s) over their
standard deviations. With f(u) the negative log density of judgments and u, at its minimum u-hat,
minus the log-likelihood is f(u-hat) + ln det H / 2, H the Hessian of f by u. H is diagonal among
items, so that their block is eliminated and what is left has two rows a participant.

The gradient by the parameters is automatic: one Newton step from u-hat, whose value is zero,
carries u-hat's derivatives.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from lingprob.errors import LingprobError

ITERATIONS = 200
NEGLIGIBLE = 1e-12
# Stands for an infinite threshold: beyond it nothing changes in double precision.
FAR = 40.0
LOG_ROOT_2_PI = 0.5 * float(np.log(2 * np.pi))


@dataclass(frozen=True)
class Judgments:
    """N judgments: `category`, `item`, `participant` (N,) int64 from 0; `terms` (items, k)."""

    category: Tensor
    item: Tensor
    participant: Tensor
    terms: Tensor
    categories: int
    participants: int

    @property
    def items(self) -> int:
        """Number of items."""
        return len(self.terms)


class Parameters(NamedTuple):
    """Slopes (k,), thresholds (K + 1,) with infinite ends, sds of items, shifts and stretches."""

    slopes: Tensor
    thresholds: Tensor
    sd: Tensor


class Curvature(NamedTuple):
    """The Hessian by u: `items` (I,) the diagonal, `cross` (I, 2P), `people` (2P, 2P)."""

    items: Tensor
    cross: Tensor
    people: Tensor


def unpack(vector: Tensor, judgments: Judgments, stretch: bool) -> Parameters:
    """Return the parameters of an unconstrained vector (k + K - 1 + 2 or 3,): slopes, first
    threshold, logs of steps to the next ones, logs of sds (the last of stretches, if any)."""
    k, steps = judgments.terms.shape[1], judgments.categories - 2
    slopes, first = vector[:k], vector[k : k + 1]
    rises = torch.exp(vector[k + 1 : k + 1 + steps])
    inner = torch.cat([first, first + torch.cumsum(rises, 0)])
    ends = vector.new_full((1,), FAR)
    sd = torch.exp(vector[k + 1 + steps :])
    sd = sd if stretch else torch.cat([sd, sd.new_zeros(1)])
    return Parameters(slopes, torch.cat([-ends, inner, ends]), sd)


def negative_log_likelihood(
    vector: NDArray[np.float64], judgments: Judgments, stretch: bool, start: Tensor
) -> tuple[float, NDArray[np.float64], Tensor]:
    """Return minus the log-likelihood (nats), its gradient by `vector`, and the modes u-hat.

    The modes are sought from `start`, (items + 2 participants,).
    """
    given = torch.tensor(vector, dtype=torch.float64, requires_grad=True)
    with torch.no_grad():
        modes = _modes(unpack(given, judgments, stretch), judgments, start)
    parameters = unpack(given, judgments, stretch)
    _, slope, curvature = _at(modes, parameters, judgments)
    step = _solve(Curvature(*(part.detach() for part in curvature)), slope)
    density, _, curvature = _at(modes - step, parameters, judgments)
    value = density + 0.5 * _log_determinant(curvature)
    value.backward()
    assert given.grad is not None
    return float(value.detach()), given.grad.numpy().copy(), modes


def _at(
    u: Tensor, parameters: Parameters, judgments: Judgments
) -> tuple[Tensor, Tensor, Curvature]:
    """Return f at u, its gradient by u and the curvature."""
    i, p, item, who = judgments.items, judgments.participants, judgments.item, judgments.participant
    sd_item, sd_shift, sd_stretch = parameters.sd
    w, v, s = u[:i], u[i : i + p], u[i + p :]
    eta = judgments.terms @ parameters.slopes + sd_item * w
    stretch = torch.exp(sd_stretch * s)[who]
    shift = (sd_shift * v)[who] - eta[item]
    bounds = [parameters.thresholds[judgments.category + side] for side in (0, 1)]
    moving = [bound.abs() < FAR for bound in bounds]
    stretched = [torch.where(m, stretch * b, b) for m, b in zip(moving, bounds, strict=True)]
    low, high = (torch.where(m, b + shift, b) for m, b in zip(moving, stretched, strict=True))
    log_p = _log_difference(low, high)
    # Derivatives of ln p by its two bounds, and the bounds' by the stretch; none at infinity.
    g_low = -torch.exp(-0.5 * low**2 - LOG_ROOT_2_PI - log_p) * moving[0]
    g_high = torch.exp(-0.5 * high**2 - LOG_ROOT_2_PI - log_p) * moving[1]
    h_low, h_high, h_both = -low * g_low - g_low**2, -high * g_high - g_high**2, -g_low * g_high
    t_low, t_high = stretched
    by_shift, by_stretch = g_low + g_high, g_low * t_low + g_high * t_high
    mm = -(h_low + h_high + 2 * h_both)
    ms = -((h_low + h_both) * t_low + (h_high + h_both) * t_high)
    ss = -(h_low * t_low**2 + 2 * h_both * t_low * t_high + h_high * t_high**2 + by_stretch)
    slope = u - torch.cat(
        [
            -sd_item * _sum(by_shift, item, i),
            sd_shift * _sum(by_shift, who, p),
            sd_stretch * _sum(by_stretch, who, p),
        ]
    )
    cross = u.new_zeros(i * 2 * p)
    place = item * 2 * p + who
    cross = cross.index_add(0, place, -sd_item * sd_shift * mm)
    cross = cross.index_add(0, place + p, -sd_item * sd_stretch * ms)
    blocks = [
        1 + sd_shift**2 * _sum(mm, who, p),
        sd_shift * sd_stretch * _sum(ms, who, p),
        1 + sd_stretch**2 * _sum(ss, who, p),
    ]
    first, mixed, second = map(torch.diag, blocks)
    people = torch.cat([torch.cat([first, mixed], 1), torch.cat([mixed, second], 1)])
    items = 1 + sd_item**2 * _sum(mm, item, i)
    density = 0.5 * (u**2).sum() - log_p.sum()
    return density, slope, Curvature(items, cross.view(i, 2 * p), people)


def _sum(values: Tensor, codes: Tensor, count: int) -> Tensor:
    return values.new_zeros(count).index_add(0, codes, values)


def _log_difference(low: Tensor, high: Tensor) -> Tensor:
    """Return ln(Phi(high) - Phi(low)) where both are on the side of zero that loses no digits."""
    flip = low + high > 0
    above, below = torch.where(flip, -low, high), torch.where(flip, -high, low)
    top = torch.special.log_ndtr(above)
    return top + torch.log1p(-torch.exp(torch.special.log_ndtr(below) - top))


def _schur(curvature: Curvature) -> Tensor:
    """Return the root of the participants' block less what items explain of it.

    Far from the mode the stretches may bend it the wrong way: a ridge then shortens the step.
    Raises LingprobError where it has values that are not finite.
    """
    scaled = curvature.cross / curvature.items[:, None]
    block = curvature.people - curvature.cross.T @ scaled
    if not torch.isfinite(block).all():
        raise LingprobError(
            "the likelihood of the ordinal model is zero where it was looked for: some categories "
            "are hardly used, or judgments follow from the terms without chance. Merge categories, "
            "or leave terms out."
        )
    root, failed = torch.linalg.cholesky_ex(block)
    ridge = 1.0
    while failed:
        root, failed = torch.linalg.cholesky_ex(block + ridge * torch.eye(len(block)))
        ridge *= 10
    return root


def _log_determinant(curvature: Curvature) -> Tensor:
    root = _schur(curvature)
    return torch.log(curvature.items).sum() + 2 * torch.log(torch.diag(root)).sum()


def _solve(curvature: Curvature, right: Tensor) -> Tensor:
    """Return H^-1 right, (items + 2 participants,)."""
    i = len(curvature.items)
    of_items = right[:i] / curvature.items
    rest = (right[i:] - curvature.cross.T @ of_items)[:, None]
    people = torch.cholesky_solve(rest, _schur(curvature))[:, 0]
    return torch.cat([of_items - (curvature.cross @ people) / curvature.items, people])


def _modes(parameters: Parameters, judgments: Judgments, start: Tensor) -> Tensor:
    """Minimise f by damped Newton steps, from zero where the likelihood is zero at the start."""
    u = start
    density, slope, curvature = _at(u, parameters, judgments)
    if not torch.isfinite(density):
        u = torch.zeros_like(start)
        density, slope, curvature = _at(u, parameters, judgments)
    for _ in range(ITERATIONS):
        step = _solve(curvature, slope)
        gain, share = float(step @ slope), 1.0
        if abs(gain) < NEGLIGIBLE:
            break
        while True:
            there = u - share * step
            new, new_slope, new_curvature = _at(there, parameters, judgments)
            if new <= density + 1e-12 * abs(float(density)) or share < 1e-6:
                break
            share /= 2
        u, density, slope, curvature = there, new, new_slope, new_curvature
    return u
