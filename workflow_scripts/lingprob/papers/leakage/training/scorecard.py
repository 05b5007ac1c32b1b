"""What the paper on leakage states of its trained models, against ours."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd

from lingprob.papers.contract import Published, Run, Tables
from lingprob.referee.numbers import claim, make_scorecard
from lingprob.training.sizes import ALL_TEXTS


def compare(tables: Tables, published: Published, run: Run) -> pd.DataFrame:
    """Compare the models' sizes (Table 1), and what fine-tuning does to perplexity (§3.2).

    Takes the table `perplexity`; returns a `scorecard`.
    """
    perplexity = tables["perplexity"]
    sizes = perplexity.drop_duplicates("size")
    ours = {
        (str(row.size), "parameters"): (float(row.parameters), "")
        for row in sizes.itertuples(index=False)
    }
    claims = perplexity_claims(published, perplexity, run.scale)
    return make_scorecard(published, ours, claims, run.scale)


def perplexity_claims(
    published: dict[str, Any], perplexity: pd.DataFrame, scale: str
) -> list[dict[str, Any]]:
    """Check on all texts together that size and fine-tuning lower perplexity as in Figure 2."""
    together = ALL_TEXTS if ALL_TEXTS in set(perplexity["corpus"]) else perplexity["corpus"].iloc[0]
    table = perplexity[perplexity["corpus"] == together].sort_values("parameters")
    logs = np.log(
        table.pivot(index="size", columns="fine_tuning_steps", values="perplexity")
    ).reindex(table["size"].unique())
    first, *later = logs.columns
    rows = []
    for smaller, larger in zip(logs.index[:-1], logs.index[1:], strict=True):
        difference = logs.loc[larger, first] - logs.loc[smaller, first]
        text = f"ln perplexity less that of {smaller} < 0"
        rows.append(claim(published, "Figure 2", larger, text, difference, difference < 0,
                          scale=scale))  # fmt: skip
    for steps in later:
        gain = logs[first] - logs[steps]
        for size in logs.index:
            text = f"fall of ln perplexity in {steps} fine-tuning steps > 0"
            rows.append(claim(published, "§3.2", size, text, gain[size], gain[size] > 0,
                              scale=scale))  # fmt: skip
        for smaller, larger in zip(logs.index[:-1], logs.index[1:], strict=True):
            more = gain[larger] - gain[smaller]
            text = f"that fall less that of {smaller} > 0, {steps} steps"
            rows.append(claim(published, "§3.2", larger, text, more, more > 0, scale=scale))
    return rows
