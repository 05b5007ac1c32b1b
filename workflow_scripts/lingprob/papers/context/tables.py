"""Make Tables 1 and 2 of Sinha et al. (2023) from a run, with the published values."""

import pandas as pd

from lingprob.context.names import MATCHED, primary_dataset
from lingprob.papers.context.analysis import PAPER_DATASET, extreme_suites
from lingprob.papers.run import Run, Tables

TABLE_ROWS = 10


def tabulate(tables: Tables, run: Run) -> dict[str, pd.DataFrame]:
    """Return `table_1` and `table_2`: ten suites of the run, then the paper's other suites.

    If the data set is BLiMP, columns have the published means over models.
    """
    accuracy, dataset = tables["context_accuracy"], str(primary_dataset([*run.titles]))
    found = {}
    for number, kind in enumerate(MATCHED, start=1):
        ranked = extreme_suites(accuracy, dataset, kind)
        rows = next(
            item["rows"] for item in run.published["items"] if item["item"] == f"Table {number}"
        )
        theirs = {key.removeprefix("mean/"): rows[key] for key in rows if key.startswith("mean/")}
        shown = ranked.head(TABLE_ROWS).copy()
        if dataset == PAPER_DATASET:
            others = ranked.iloc[TABLE_ROWS:]
            shown = pd.concat([shown, others[others["suite"].isin(theirs)]])
            for column, place in (("published mean_delta", 0), ("published mean_sd", 1)):
                shown[column] = [theirs[suite][place] if suite in theirs else None
                                 for suite in shown["suite"]]  # fmt: skip
        titles = {
            f"{name}/{column}": f"{run.models[name]['title']}: {column}"
            for name in run.models
            for column in ("delta", "sd")
        }
        found[f"table_{number}"] = shown.rename(columns=titles).assign(
            scale=accuracy["scale"].iloc[0]
        )
    return found
