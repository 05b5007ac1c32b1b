"""The formal part on its own example: messages, errors and the probability of eight strings.

A message m has one grammatical realization; an error step happens with probability e and is one of
K, so that a string that is d >= 1 steps away from it has probability (1 - e) (e / K)^d, normalised
over the strings that there are (Hu et al. 2026, §2.2).
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from lingprob.errors import LingprobError
from lingprob.papers.contract import Tables

Array = NDArray[np.float64]
TOY_COLUMNS = ["model", "text", "grammatical", "surprisal"]
# P(m) of the three messages: the paper says only that they fall in this order (§2.1.1).
MESSAGES = {"The moon emerges.": 0.70, "A moon emerges.": 0.25, "The moons emerge.": 0.05}


@dataclass(frozen=True)
class Language:
    """Strings, of which some realize a message, and how errors turn one into another.

    Args:
        strings: (n,) of equally many words.
        prior: P(m), (k,), summing to one.
        realization: place in `strings` of each message's grammatical realization, (k,).
        error: e, the probability of an error step.
        errors: K, how many errors may be made at a step.
    """

    strings: tuple[str, ...]
    prior: Array
    realization: NDArray[np.int64]
    error: float = 0.01
    errors: int = 3

    @property
    def distance(self) -> NDArray[np.int64]:
        """Error steps from each message's realization to each string, (k, n): words that differ."""
        words = np.array([string.split() for string in self.strings])
        return (words[self.realization][:, None, :] != words[None, :, :]).sum(axis=2)

    @property
    def grammatical(self) -> NDArray[np.bool_]:
        """Whether a string realizes a message, (n,)."""
        return np.isin(np.arange(len(self.strings)), self.realization)

    def joint(self) -> Array:
        """Return P(m, s), (k, n); it sums to one."""
        steps = self.distance
        erroneous = np.where(steps > 0, (self.error / self.errors) ** steps, 0.0)
        erroneous /= erroneous.sum(axis=1, keepdims=True)
        given = np.where(steps == 0, 1 - self.error, self.error * erroneous)
        return self.prior[:, None] * given


def toy_language(strings: list[str], **error_model: Any) -> Language:
    """Return the paper's example for its eight strings (§2.1.1)."""
    missing = [text for text in MESSAGES if text not in strings]
    if missing:
        raise LingprobError(f"toy strings: {missing[0]!r} is not among them: {strings}")
    realization = np.array([strings.index(text) for text in MESSAGES])
    return Language(tuple(strings), np.array(list(MESSAGES.values())), realization, **error_model)


def meaning_matched_pairs(language: Language) -> pd.DataFrame:
    """Return the meaning-matched pairs: good, bad, distance, minimal (Definitions 3 and 4).

    Every ungrammatical string may be an erroneous realization of every message; a pair is minimal
    where one error does it and the grammatical string's likeliest message is its own.
    """
    joint, distance = language.joint(), language.distance
    rows = []
    for message, place in enumerate(language.realization):
        likeliest = int(joint[:, place].argmax()) == message
        for other in np.flatnonzero(~language.grammatical):
            steps = int(distance[message, other])
            row = {"good": language.strings[place], "bad": language.strings[other]}
            rows.append({**row, "distance": steps, "minimal": likeliest and steps == 1})
    return pd.DataFrame(rows)


def string_table(language: Language) -> pd.DataFrame:
    """Return each string's probability and its likeliest message with P(m | s)."""
    joint = language.joint()
    total = joint.sum(axis=0)
    posterior = joint / total
    realized = [language.strings[place] for place in language.realization]
    return pd.DataFrame(
        {
            "text": language.strings,
            "grammatical": language.grammatical,
            "probability": total,
            "likeliest_message": [realized[at] for at in posterior.argmax(axis=0)],
            "posterior": posterior.max(axis=0),
        }
    )


def assumptions(language: Language) -> pd.DataFrame:
    """Return what Assumptions 2 to 6 (Appendix A) bound, on a language: a row each.

    Columns: quantity, value, bound, holds. The formal statements are read so: 2, P(G = 0 | m) is
    below 1/2; 3, the covariance of log P(G = 0 | m) with log P(m) is below the variance of log
    P(m); 4, the likeliest message brings most of the probability of every string; 5, P(M_d) / K^d
    grows by less than 1 / e from one distance d to the next; 6, log P(M_1) / P(m*), M_1 around the
    ungrammatical string, varies less over minimal pairs than log P(m).
    """
    joint = language.joint()
    place = np.arange(len(language.prior)), language.realization
    log_prior = np.log(language.prior)
    log_error = np.log(1 - joint[place] / language.prior)
    covariance = float(np.cov(log_error, log_prior)[0, 1])
    posterior = joint.max(axis=0) / joint.sum(axis=0)
    rows = [
        ("2: largest P(G = 0 | m)", float(np.exp(log_error).max()), 0.5),
        ("3: |cov(log P(G = 0 | m), log P(m))|", abs(covariance), float(log_prior.var(ddof=1))),
        ("4: largest share of other messages in P(s)", float(1 - posterior.min()), 0.5),
        ("5: largest growth of P(M_d) / K^d", fastest_growth(language), 1 / language.error),
        ("6: sd of log P(M_1) / P(m*)", neighbourhood_sd(language), float(log_prior.std(ddof=1))),
    ]
    table = pd.DataFrame(rows, columns=["quantity", "value", "bound"])
    return table.assign(holds=table["value"] < table["bound"])


def masses(language: Language) -> Array:
    """Return P(M_d), (d, n): the probability of the messages d steps away from each string."""
    distance = language.distance
    return np.stack([(distance == d).T @ language.prior for d in range(int(distance.max()) + 1)])


def fastest_growth(language: Language) -> float:
    """Return the largest ratio of P(M_d) / K^d at one distance to that at the last before it.

    Per step: of a distance that no message has, its root is taken over the steps between.
    """
    found = [0.0]
    for mass in masses(language).T:
        there = np.flatnonzero(mass)
        for near, far in pairwise(there):
            growth = mass[far] / mass[near]
            found.append(float(growth ** (1 / (far - near)) / language.errors))
    return max(found)


def neighbourhood_sd(language: Language) -> float:
    """Return the standard deviation of log P(M_1) / P(m*) over the minimal pairs."""
    pairs = meaning_matched_pairs(language)
    minimal = pairs[pairs["minimal"]]
    near = dict(zip(language.strings, masses(language)[1], strict=True))
    own = dict(
        zip((language.strings[at] for at in language.realization), language.prior, strict=True)
    )
    ratios = np.log([near[row.bad] / own[row.good] for row in minimal.itertuples()])
    return float(ratios.std(ddof=1)) if len(ratios) > 1 else np.nan


def surprisal_differences(surprisals: pd.DataFrame, difference: str) -> list[tuple[str, float]]:
    """Return one difference (bits) that §2.1.1 says, or what it says of messages lets one expect,
    is above 0 in GPT-2, for each model.

    `surprisals` has model, text, grammatical and surprisal (bits). The difference is
    `ungrammatical` (mean surprisal of ungrammatical less grammatical strings), `plural` (of many
    moons less one moon), `moons` ("The moons emerge" less "*The moon emerge"), or `messages` (the
    least step between the messages' own strings, from the likeliest message to the least likely).
    """
    found = []
    for model, strings in surprisals.groupby("model", sort=False):
        of = strings.set_index("text")["surprisal"]
        by_kind = strings.groupby(strings["grammatical"].astype(bool))["surprisal"].mean()
        likely, middle, unlikely = (of[text] for text in MESSAGES)
        plural = of.index.str.contains("moons ")
        values = {
            "ungrammatical": by_kind[False] - by_kind[True],
            "plural": of[plural].mean() - of[~plural].mean(),
            "moons": of["The moons emerge."] - of["The moon emerge."],
            "messages": min(unlikely - middle, middle - likely),
        }
        found.append((str(model), float(values[difference])))
    return found


def toy_surprisals(tables: Tables) -> pd.DataFrame:
    """Return each toy string's surprisal (bits) by model: model, text, grammatical, surprisal.

    The first convention of each model's scores counts.
    """
    if "toy_scores" not in tables:
        return pd.DataFrame(columns=TOY_COLUMNS)
    scores = tables["toy_scores"]
    first = scores.groupby("model")[["bos", "unigrams"]].transform("first")
    chosen = scores[(scores[["bos", "unigrams"]] == first).all(axis=1)]
    joined = chosen.merge(tables["toy_stimuli"], on="item_id")
    return joined.assign(surprisal=-joined["logprob"] / np.log(2))[TOY_COLUMNS]
