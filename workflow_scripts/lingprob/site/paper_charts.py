"""The figures of one paper each: what its question is about, point by point."""

from __future__ import annotations

import pandas as pd

from lingprob.site.cards import interval, shown
from lingprob.site.charts import (
    KINDS,
    SOFT,
    Chart,
    Filter,
    coloured,
    in_families,
    records,
    tooltips,
)
from lingprob.site.points import MOST_POINTS

# Labels of a logarithmic axis (Vega's expressions): 1, 2 and 5 of each power of ten, as 500k or 2B.
ONE_TWO_FIVE = (
    "indexof([1, 2, 5], round(datum.value / pow(10, floor(log(datum.value) / LN10 + 1e-9)))) < 0"
    " ? '' : replace(format(datum.value, '~s'), 'G', 'B')"
)
# Of kinds of prefixes, with the colours that the figures have for them (papers.context.looks).
PREFIXES = {
    "matched acceptable": "#009E73",
    "matched unacceptable": "#CC79A7",
    "mismatched acceptable": "#E69F00",
    "mismatched unacceptable": "#D55E00",
    "unrelated": "#56B4E9",
}


def sentence_chart(sentences: pd.DataFrame) -> Chart | None:
    """Return MORCELA's predictions against ratings, a point a sentence; None if there is none.

    Args:
        sentences: of `points.rated_sentences`, `rows.titled`.
    """
    if sentences.empty:
        return None
    rows = sentences.assign(
        residual=[shown(float(value)) for value in sentences["rating"] - sentences["predicted"]]
    )
    # Of one's own, ratings may be means of 1 to 7.
    unit = " (z)" if (sentences.groupby("data")["rating"].min() < 0).all() else ""
    axes = {
        "x": {"field": "predicted", "type": "quantitative", "title": f"predicted rating{unit}"},
        "y": {"field": "rating", "type": "quantitative", "title": f"rating{unit}"},
    }
    tips = tooltips(text="sentence", rating="rating", predicted="predicted", title="model")
    return Chart(
        "sentences",
        "Which sentences people and models disagree on",
        "Mean ratings of sentences against what MORCELA predicts of them, each left out of the fit "
        "that it is predicted by: above the line people find a sentence better than the model "
        f"does. Of each data set at most {MOST_POINTS} are shown, evenly spaced over the ratings.",
        [Filter("title", "Model"), Filter("data", "Data")],
        records(rows[["title", "data", "text", "rating", "predicted", "residual"]]),
        {"width": "container", "height": 360, "encoding": axes,
         "layer": [_diagonal("predicted", "rating"), _dots(tips)]},
    )  # fmt: skip


def pair_chart(pairs: pd.DataFrame) -> Chart | None:
    """Return log-probabilities of the sentences of pairs, a point a pair; None if there is none.

    Args:
        pairs: of `points.scored_pairs`, `rows.titled`.
    """
    if pairs.empty:
        return None
    rows = pairs.assign(
        verdict=["right" if row.logprob_good > row.logprob_bad else "wrong"
                 for row in pairs.itertuples()],
        margin=[shown(float(value)) for value in pairs["logprob_good"] - pairs["logprob_bad"]],
    )  # fmt: skip
    axes = {
        "x": {"field": "logprob_bad", "type": "quantitative", "scale": {"zero": False},
              "title": "log p of the ungrammatical sentence (nats)"},
        "y": {"field": "logprob_good", "type": "quantitative", "scale": {"zero": False},
              "title": "log p of the grammatical sentence (nats)"},
    }  # fmt: skip
    tips = tooltips(good="grammatical", bad="ungrammatical", margin="difference (nats)",
                    title="model")  # fmt: skip
    dots = _dots(tips)
    dots["encoding"] |= {
        "color": coloured("verdict", {"right": "--link", "wrong": "--no"}),
        "shape": {"field": "verdict", "type": "nominal", "title": None,
                  "scale": {"domain": ["right", "wrong"], "range": ["circle", "diamond"]}},
    }  # fmt: skip
    return Chart(
        "pairs",
        "Which pairs a model gets right",
        "Log-probabilities of the two sentences of minimal pairs: they rise and fall together over "
        "a range much wider than the distance from the line, above which the model prefers the "
        f"grammatical sentence. Of each data set at most {MOST_POINTS} are shown, evenly spaced "
        "over the grammatical sentence's.",
        [Filter("title", "Model"), Filter("data", "Data"), Filter("verdict", "Pairs", every=True)],
        records(rows[["title", "data", "good", "bad", "logprob_good", "logprob_bad", "margin",
                      "verdict"]]),
        {"width": "container", "height": 400, "encoding": axes,
         "layer": [_diagonal("logprob_bad", "logprob_good"), dots]},
    )  # fmt: skip


def size_chart(rows: pd.DataFrame) -> Chart | None:
    """Return ΔLogLik over the number of parameters, a point a model; None if there is none.

    Args:
        rows: as for `charts.quantities_chart`, those of the published fits among them.
    """
    found = rows[rows["quantity"] == "ΔLogLik"].dropna(subset=["value", "parameters"])
    if found.empty:
        return None
    found = found.assign(
        interval=[interval(row) for row in found.to_dict("records")],
        n=[shown(float(n)) for n in found["n"].astype(float)],
    )
    point = {"type": "point", "size": 90, "strokeWidth": 2, "opacity": 1}
    x = {"field": "parameters", "type": "quantitative", "scale": {"type": "log"},
         "axis": {"labelExpr": ONE_TWO_FIVE, "title": "parameters"}}  # fmt: skip
    y = {"type": "quantitative", "title": "ΔLogLik (nats)"}
    colour = in_families(found)
    tips = tooltips(title="model", value="ΔLogLik (nats)", interval="95% interval", n="n",
                    data="data", kind="from")  # fmt: skip
    of_model = {"y": {"field": "value", **y}, "color": colour, "tooltip": tips}
    return Chart(
        "sizes",
        "Do larger models fit reading times worse?",
        "What surprisal adds to a regression of reading times it was not fitted to, by the number "
        "of the model's parameters, with 95% intervals: where points fall from left to right, "
        "larger models fit worse. Hollow points are published.",
        [Filter("data", "Data"), Filter("group", "Times"), Filter("family", "Family", every=True)],
        records(found[["title", "data", "group", "family", "parameters", "value", "low", "high",
                       "interval", "n", "kind"]]),
        {"width": "container", "height": 320, "encoding": {"x": x}, "layer": [
            {"mark": {"type": "rule", "aria": False},
             "transform": [{"filter": "datum.low != null"}],
             "encoding": {"y": {"field": "low", **y}, "y2": {"field": "high"}, "color": colour}},
            {"mark": point | {"filled": False}, "encoding": of_model,
             "transform": [{"filter": "datum.kind == 'published'"}]},
            {"mark": point | {"filled": True}, "encoding": of_model,
             "transform": [{"filter": "datum.kind == 'ours'"}]}]},
    )  # fmt: skip


def prefix_chart(changes: pd.DataFrame) -> Chart | None:
    """Return changes of accuracy over the length of the prefix; None if there is none.

    Args:
        changes: of `points.prefix_changes`, `rows.titled`.
    """
    found = changes.assign(kind=changes["kind"].str.replace("_", " "))
    found = found[found["kind"].isin(PREFIXES)]
    if found.empty:
        return None
    found = found.assign(
        **{name: 100 * found[name] for name in ("delta", "delta_low", "delta_high")},
        interval=[interval({"low": 100 * row.delta_low, "high": 100 * row.delta_high})
                  for row in found.itertuples()],
    ).sort_values(["data", "title", "kind", "prefix_tokens"])  # fmt: skip
    y = {"type": "quantitative", "title": "change of accuracy (points)"}
    tips = tooltips(kind="prefix", delta="change (points)", interval="95% interval",
                    prefix_tokens="tokens", n_pairs="pairs", title="model")  # fmt: skip
    colour = coloured("kind", PREFIXES)
    return Chart(
        "prefixes",
        "What a prefix changes",
        "The change of accuracy from no prefix, by the length and kind of the prefix, with 95% "
        "intervals: the paper finds that matched acceptable prefixes raise it and matched "
        "unacceptable ones lower it.",
        [Filter("data", "Data"), Filter("title", "Model"), Filter("kind", "Prefixes", every=True)],
        records(found[["data", "title", "kind", "prefix_tokens", "delta", "delta_low",
                       "delta_high", "interval", "n_pairs"]]),
        {"width": "container", "height": 340,
         "encoding": {"x": {"field": "prefix_tokens", "type": "quantitative",
                            "title": "length of the prefix (tokens)"}, "color": colour},
         "layer": [
             {"mark": {"type": "rule", "strokeDash": [4, 3]},
              "encoding": {"x": None, "y": {"datum": 0, **y}, "color": {"value": SOFT}}},
             {"mark": {"type": "area", "opacity": 0.13, "aria": False},
              "encoding": {"y": {"field": "delta_low", **y}, "y2": {"field": "delta_high"}}},
             {"mark": "line", "encoding": {"y": {"field": "delta", **y}}},
             {"mark": {"type": "point", "filled": True, "size": 60, "opacity": 1},
              "encoding": {"y": {"field": "delta", **y}, "tooltip": tips}}]},
    )  # fmt: skip


def both_chart(rows: pd.DataFrame) -> Chart | None:
    """Return acceptability against reading times, a point a model that has both (morcela, §6.3).

    Args:
        rows: as for `charts.quantities_chart`, of all papers.
    """
    names = ["model", "title", "family", "colour"]
    ours = rows[rows["kind"] == "ours"].dropna(subset=["value"])
    rated, read = (
        ours.loc[ours["quantity"] == quantity, [*names, "data", "value", "low", "high"]]
        for quantity in ("r of MORCELA with ratings", "ΔLogLik")
    )
    both = rated.merge(
        read, on=["model", "title", "family", "colour"], suffixes=("_rated", "_read")
    )
    if both.empty:
        return None
    both = both.assign(
        **{f"interval_{name}": [interval({"low": row[f"low_{name}"], "high": row[f"high_{name}"]})
                                for row in both.to_dict("records")] for name in ("rated", "read")}
    )  # fmt: skip
    x = {"type": "quantitative", "scale": {"zero": False}, "title": "r of MORCELA with ratings"}
    y = {"type": "quantitative", "title": "ΔLogLik (nats)"}
    tips = tooltips(title="model", value_rated="r with ratings", interval_rated="95% interval",
                    value_read="ΔLogLik", interval_read="its 95% interval")  # fmt: skip
    colour = in_families(both)
    return Chart(
        "both",
        "Acceptability against reading times",
        "How well each model's probabilities predict acceptability and reading times (MORCELA, "
        "§6.3), with 95% intervals: a model on the right is good at the one, a model on top at the "
        "other.",
        [Filter("data_rated", "Ratings"), Filter("data_read", "Reading times"),
         Filter("family", "Family", every=True)],
        records(both.drop(columns=["model", "colour"])),
        {"width": "container", "height": 360, "encoding": {"color": colour}, "layer": [
            {"mark": {"type": "rule", "aria": False, "opacity": 0.6},
             "encoding": {"x": {"field": "low_rated", **x}, "x2": {"field": "high_rated"},
                          "y": {"field": "value_read", **y}}},
            {"mark": {"type": "rule", "aria": False, "opacity": 0.6},
             "encoding": {"x": {"field": "value_rated", **x}, "y": {"field": "low_read", **y},
                          "y2": {"field": "high_read"}}},
            {"mark": {"type": "point", "filled": True, "size": 90, "opacity": 1},
             "encoding": {"x": {"field": "value_rated", **x}, "y": {"field": "value_read", **y},
                          "tooltip": tips}}]},
    )  # fmt: skip


def _diagonal(x: str, y: str) -> dict:
    """Return the line on which two fields are the same, over the range that both have."""
    ends = [{"aggregate": [{"op": op, "field": field, "as": f"{op}_{field}"}
                           for op in ("min", "max") for field in (x, y)]},
            {"calculate": f"max(datum.min_{x}, datum.min_{y})", "as": "from"},
            {"calculate": f"min(datum.max_{x}, datum.max_{y})", "as": "to"}]  # fmt: skip
    quantity = {"type": "quantitative"}
    return {
        "mark": {"type": "rule", "strokeDash": [4, 3], "aria": False},
        "transform": ends,
        "encoding": {
            "x": {"field": "from", **quantity}, "x2": {"field": "to"},
            "y": {"field": "from", **quantity}, "y2": {"field": "to"}, "color": {"value": SOFT},
        },
    }  # fmt: skip


def _dots(tips: list) -> dict:
    """Return a layer of points that tell of themselves."""
    mark = {"type": "point", "filled": True, "size": 50, "opacity": 0.75}
    return {"mark": mark, "encoding": {"color": {"value": KINDS["ours"]}, "tooltip": tips}}
