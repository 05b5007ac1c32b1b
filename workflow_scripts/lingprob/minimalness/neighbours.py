"""How near a pair's grammatical sentence is to what a model takes the other one to be meant as.

The paper's natural measure of minimalness compares it with the grammatical string closest to the
ungrammatical one (string_probability, §4.2), which it replaces by an embedding. Here the model's
own most probable string one edit away stands for that string.
"""

from __future__ import annotations

import pandas as pd

from lingprob.minimalness.distances import pair_texts
from lingprob.progress import Progress
from lingprob.scoring.neighbours import Neighbourhood, best_of_each_edit


def measure_neighbours(
    model: str,
    dataset: str,
    stimuli: pd.DataFrame,
    distances: pd.DataFrame,
    neighbourhood: Neighbourhood,
    scale: str,
) -> pd.DataFrame:
    """Return a `neighbours` table: of each pair, the best neighbour of its ungrammatical sentence.

    Args:
        model: its name.
        dataset: name of the data set that `stimuli` are of.
        stimuli: pairs.
        distances: their `minimalness` table, for the cosine distances.
        neighbourhood: finds and scores the neighbours.
        scale: of the run.

    A row is the most probable neighbour of one edit; `best` marks the most probable of all edits.
    Pairs of identical sentences are left out.
    """
    texts = pair_texts(stimuli, dataset)
    texts = texts[texts["good"] != texts["bad"]]
    about = stimuli.drop_duplicates("pair_id").set_index("pair_id")["paradigm"]
    cosine = distances.set_index("pair_id")["cosine_distance"]
    rows = []
    with Progress(len(texts), f"neighbours of {dataset}", "sentences") as progress:
        for pair_id, good, bad in texts.itertuples():
            for row in rows_of_pair(good, bad, neighbourhood):
                row |= {"pair_id": pair_id, "paradigm": about[pair_id]}
                rows.append({**row, "cosine_distance": cosine[pair_id]})
            progress.advance()
    return pd.DataFrame(rows).assign(model=model, dataset=dataset, scale=scale)


def rows_of_pair(good: str, bad: str, neighbourhood: Neighbourhood) -> list[dict[str, object]]:
    """Return a row an edit: its most probable neighbour of `bad`, with both sentences beside."""
    found = neighbourhood.score(bad)
    tokens = neighbourhood.language_model.tokenize([good, bad])
    of_good, of_bad = map(float, neighbourhood.logprobs([part.ids for part in tokens]))
    best = best_of_each_edit(found)
    highest = max((neighbour.logprob for neighbour in best), default=0.0)
    return [
        {
            "edit": neighbour.edit,
            "best": neighbour.logprob == highest,
            "neighbour": neighbour.text,
            "logprob": neighbour.logprob,
            "logprob_good": of_good,
            "logprob_bad": of_bad,
            "is_partner": neighbour.text == good,
            "partner_in_reach": any(other.text == good for other in found),
            "n_neighbours": len(found),
        }
        for neighbour in best
    ]
