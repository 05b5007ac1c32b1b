"""The theory as a program: messages, errors, and the probability of every string.

A message of N words is realized by one of the V^N strings of N places with one of V words each;
log P(m) is normal about -b N. P(G = 0 | m) is about e; errors then put other words at d places,
each with probability e / K times a weight of its own, K = N (V - 1), normalised over all strings
but the realization (Hu et al. 2026, §2.2 and Appendix A). Log-probabilities of strings are exact
sums over all messages.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from scipy.special import log_expit, logsumexp, ndtr, ndtri

Array = NDArray[np.float64]
Ints = NDArray[np.int64]


@dataclass(frozen=True)
class Parameters:
    """Of the generative model; nats, and points of a rating.

    Args:
        messages: in all, as many of each length.
        spread: standard deviation of log P(m) among messages of one length.
        words: V; `length`: N; `length_range`: how far lengths go below and above N.
        per_word: b, by which a message of one word more is less probable.
        error: e; `error_slope`: of the log odds of P(G = 0 | m) on log P(m), 0 under Assumption 3.
        severity: standard deviation of the log weights of errors.
        distance: d, errors between the sentences of a pair.
        lure_distance: errors between each ungrammatical string and a further message, the lure;
            None for no lures. A lure's log P is that of the pair's message (`lure_of_pair`; else
            the mean of all) plus `lure_excess`, give or take `lure_spread`.
        message_points, error_points, weight_points: of a nat of the likeliest message's log P, of
            an error, and of a nat of its weight; a rating is about `acceptable`, give or take
            `rating_sd`, within `rating_range`.
    """

    messages: int = 150
    spread: float = 12.0
    words: int = 50
    length: int = 12
    length_range: int = 0
    per_word: float = 6.0
    error: float = 0.05
    error_slope: float = 0.0
    severity: float = 3.0
    distance: int = 1
    lure_distance: int | None = None
    lure_excess: float = 0.0
    lure_spread: float = 0.0
    lure_of_pair: bool = True
    message_points: float = 0.03
    error_points: float = 1.0
    weight_points: float = 0.3
    acceptable: float = 5.2
    rating_sd: float = 0.5
    rating_range: tuple[float, float] = (1.0, 7.0)

    @property
    def lengths(self) -> range:
        """All lengths of messages."""
        return range(self.length - self.length_range, self.length + self.length_range + 1)

    def errors(self, length: int) -> int:
        """Return K, how many errors may be made at a step in a string of a length."""
        return length * (self.words - 1)

    def log_weights(self, length: int) -> Array:
        """Return the log weights of all errors, (N V,): quantiles of their normal distribution."""
        count = length * self.words
        return self.severity * ndtri((np.arange(count) + 0.5) / count)


@dataclass(frozen=True)
class World:
    """Messages of one length, and errors.

    Args:
        strings: the realization of each message, (k, N) of words from 0; all differ.
        log_prior: log P(m), (k,), up to a constant.
        log_odds: of P(G = 0 | m), (k,).
        log_step: e / K, the probability of an error before its weight.
        log_weight: of the error that puts a word at a place, (N, V).
    """

    strings: Ints
    log_prior: Array
    log_odds: Array
    log_step: float
    log_weight: Array

    def errors_to(self, strings: Ints) -> tuple[Ints, Array]:
        """Return the number of errors from each message to each string, and their summed log
        weights, both (k, n)."""
        differs = self.strings[:, None, :] != strings[None, :, :]
        weights = self.log_weight[np.arange(strings.shape[1]), strings]
        return differs.sum(axis=2), np.einsum("kni,ni->kn", differs, weights)

    def log_joint(self, errors: Ints, weights: Array) -> Array:
        """Return log P(m, s), (k, n), of what `errors_to` says of n strings."""
        steps = np.exp(self.log_step + self.log_weight)
        own = np.take_along_axis(steps, self.strings.T, axis=1)
        others = steps.sum(axis=1)[:, None] - own  # (N, k)
        # The steps to all strings, less to none: the product over places of one and the others.
        log_total = np.log(np.expm1(np.log1p(others).sum(axis=0)))
        erroneous = (log_expit(self.log_odds) - log_total)[:, None]
        given = np.where(
            errors == 0,
            log_expit(-self.log_odds)[:, None],
            erroneous + errors * self.log_step + weights,
        )
        return self.log_prior[:, None] + given


def draw_pairs(parameters: Parameters, seed: int) -> pd.DataFrame:
    """Return a pair of each message: its realization, and what d errors make of it.

    A pair whose second string realizes another message is left out. Columns: n_words; message, its
    log P; log_odds, of P(G = 0 | m); logprob and rating of both sides (_good, _bad); and around the
    ungrammatical string `others`, the share of all messages but the pair's own in its probability,
    `near`, log P(M_1) / P(m), and `growth`, log of the growth of P(M_d) / K^d per step.
    """
    rng = np.random.default_rng(seed)
    each = parameters.messages // len(parameters.lengths)
    drawn = [draw_world(parameters, length, each, rng) for length in parameters.lengths]
    constant = float(logsumexp(np.concatenate([world.log_prior for world, _ in drawn])))
    pairs = [pair_table(world, bad, parameters, rng) for world, bad in drawn]
    table = pd.concat(pairs, ignore_index=True)
    table[["message", "logprob_good", "logprob_bad"]] -= constant
    return table


def draw_world(
    parameters: Parameters, length: int, messages: int, rng: np.random.Generator
) -> tuple[World, Ints]:
    """Return a world of one length, and the second string of each message that is no lure."""
    words = parameters.words
    strings = rng.permutation(np.unique(rng.integers(words, size=(messages, length)), axis=0))
    level = -parameters.per_word * length
    prior = level + parameters.spread * rng.standard_normal(len(strings))
    bad = with_errors(strings, parameters.distance, words, rng)
    if parameters.lure_distance is not None:
        lures = with_errors(bad, parameters.lure_distance, words, rng)
        around = prior if parameters.lure_of_pair else np.full_like(prior, level)
        noise = parameters.lure_spread * rng.standard_normal(len(prior))
        prior = np.concatenate([prior, around + parameters.lure_excess + noise])
        # A lure that is a message already is none.
        _, first = np.unique(np.concatenate([strings, lures]), axis=0, return_index=True)
        first.sort()
        strings, prior = np.concatenate([strings, lures])[first], prior[first]
    odds = np.log(parameters.error) - np.log1p(-parameters.error)
    weights = rng.permutation(parameters.log_weights(length)).reshape(length, words)
    world = World(
        strings,
        prior,
        odds + parameters.error_slope * (prior - level),
        float(np.log(parameters.error / parameters.errors(length))),
        weights,
    )
    return world, bad


def with_errors(strings: Ints, errors: int, words: int, rng: np.random.Generator) -> Ints:
    """Return strings (k, N) with another word at so many places of each."""
    places = np.argsort(rng.random(strings.shape), axis=1)[:, :errors]
    rows = np.arange(len(strings))[:, None]
    changed = strings.copy()
    changed[rows, places] += rng.integers(1, words, size=places.shape)
    return changed % words


def pair_table(
    world: World, bad: Ints, parameters: Parameters, rng: np.random.Generator
) -> pd.DataFrame:
    """Return the pairs of one length: `draw_pairs`, up to the constant of log P(m)."""
    realized, _ = world.errors_to(bad)
    own = np.flatnonzero((realized > 0).all(axis=0))
    columns = {"message": world.log_prior[own], "log_odds": world.log_odds[own]}
    for side, strings in (("good", world.strings[own]), ("bad", bad[own])):
        errors, weights = world.errors_to(strings)
        joint = world.log_joint(errors, weights)
        columns[f"logprob_{side}"] = logsumexp(joint, axis=0)
        likeliest = joint.argmax(axis=0), np.arange(len(own))
        level = -parameters.per_word * bad.shape[1]
        rating = (
            parameters.acceptable
            + parameters.message_points * (world.log_prior[likeliest[0]] - level)
            - parameters.error_points * errors[likeliest]
            + parameters.weight_points * weights[likeliest]
            + parameters.rating_sd * rng.standard_normal(len(own))
        )
        columns[f"rating_{side}"] = rating.clip(*parameters.rating_range)
    of_pair = joint[own, np.arange(len(own))]
    columns["others"] = -np.expm1(of_pair - columns["logprob_bad"])
    masses = log_masses(world.log_prior, errors, bad.shape[1])
    columns["near"] = masses[1] - world.log_prior[own]
    columns["growth"] = growth(masses, parameters.errors(bad.shape[1]))
    return pd.DataFrame(columns).assign(n_words=bad.shape[1])


def log_masses(log_prior: Array, errors: Ints, length: int) -> Array:
    """Return log P(M_d), (N + 1, n): of the messages that are d errors from each string."""
    prior = np.exp(log_prior - log_prior.max())
    with np.errstate(divide="ignore"):
        masses = [np.log(prior @ (errors == d)) for d in range(length + 1)]
    return np.stack(masses) + log_prior.max()


def growth(masses: Array, errors: int) -> Array:
    """Return the log of the fastest growth of P(M_d) / K^d per step, (n,), from the nearest on.

    `masses` is log P(M_d), (N + 1, n), -inf where no message is. Above log 1 / e, some far messages
    bring more of a string's probability than the nearest (Assumption 5).
    """
    nearest = np.isfinite(masses).argmax(axis=0)
    steps = np.arange(len(masses))[:, None] - nearest
    rise = masses - masses[nearest, np.arange(masses.shape[1])]
    return np.where(steps > 0, rise / np.maximum(steps, 1), -np.inf).max(axis=0) - np.log(errors)


def closed_forms(parameters: Parameters) -> dict[str, float]:
    """Return the predictions' statistics where messages lie far apart and errors are rare.

    A string then has one message: log P(s) = log P(m), and log P(s') = log P(m) + log P(G = 0 | m)
    + the log probability of its errors (Appendix A). `r_pairs` is Prediction 1a, `r_ratings` 2a (no
    rating at an end of the scale), `gap` the mean difference within pairs (nats), `accuracy` and
    `auc` the area within pairs and over all (3); the last for one length.
    """
    p = parameters
    weights, step = p.log_weights(p.length), p.error / p.errors(p.length)
    others = (p.words - 1) * step * np.exp(weights).mean()
    log_total = np.log(np.expm1(p.length * np.log1p(others)))
    gap = -np.log(p.error) - p.distance * np.log(step) + log_total
    scatter = np.sqrt(p.distance) * weights.std()
    followed = (1 + p.error_slope) * p.spread
    within = np.hypot(p.error_slope * p.spread, scatter)
    length = p.per_word**2 * np.var(p.lengths)
    shared = p.spread * followed + length
    variances = p.spread**2 + length, followed**2 + scatter**2 + length
    rated = p.weight_points * scatter
    noise = np.hypot(rated, np.sqrt(2) * p.rating_sd)
    return {
        "r_pairs": float(shared / np.sqrt(variances[0] * variances[1])),
        "r_ratings": float(rated * scatter / (noise * within)),
        "gap": float(gap),
        "accuracy": float(ndtr(gap / within)),
        "auc": float(ndtr(gap / np.sqrt(sum(variances)))),
    }
