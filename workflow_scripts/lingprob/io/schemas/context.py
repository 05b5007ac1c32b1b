"""Prefixes before sentences, and judgments after them."""

from __future__ import annotations

import pyarrow as pa

from lingprob.io.schemas.columns import FLOAT64, INT32, TEXT, TRUTH, estimated, optional, required

SCHEMAS = {
    # One row per prefix, with the pairs that it precedes. `source_ids` are the stimuli of which it
    # is made, and `char_ends` are their ends. `suite` is the targets' (null: several),
    # `source_suite` the sentences' if it is one by design. `similarity` is a perturbed prefix's to
    # the original.
    "context_prefixes": pa.schema(
        required(TEXT, "dataset", "prefix_id", "kind")
        + optional(TEXT, "suite", "source_suite", "perturbation")
        + optional(FLOAT64, "similarity")
        + required(pa.list_(TEXT), "pair_ids")
        + required(TEXT, "text")
        + required(pa.list_(TEXT), "source_ids")
        + required(pa.list_(INT32), "char_ends")
    ),
    # One row per pair (or item of a suite), prefix and length. Length 0 is without a prefix.
    "context_judgments": pa.schema(
        required(TEXT, "model", "dataset", "suite")
        + optional(TEXT, "phenomenon")
        + required(TEXT, "pair_id", "prefix_id", "kind")
        + optional(TEXT, "source_suite", "perturbation")
        + required(INT32, "length", "prefix_tokens", "n_sentences")
        + required(TRUTH, "correct")
        + optional(FLOAT64, "margin")
    ),
    # One row per pair (or item of a suite) and BOS policy, without a prefix.
    "context_unprefixed_judgments": pa.schema(
        required(TEXT, "model", "dataset", "bos_policy", "suite")
        + optional(TEXT, "phenomenon")
        + required(TEXT, "pair_id")
        + required(TRUTH, "correct")
        + optional(FLOAT64, "margin")
    ),
    # One row per BOS policy and group (all pairs of a data set, or one suite's of a phenomenon):
    # accuracy without a prefix, with its 95% interval.
    "context_unprefixed": pa.schema(
        required(TEXT, "model", "dataset", "bos_policy", "level", "group")
        + optional(TEXT, "phenomenon")
        + required(FLOAT64, *estimated("accuracy"))
        + required(INT32, "n_pairs")
        + required(TEXT, "scale")
    ),
    # One row per group of pairs (all, a phenomenon or a suite) and kind of prefix: accuracy with
    # 95% intervals. `delta` is the difference to the same pairs without a prefix.
    "context_accuracy": pa.schema(
        required(TEXT, "model", "dataset", "level", "group", "kind")
        + optional(TEXT, "perturbation")
        + required(INT32, "length")
        + required(FLOAT64, "prefix_tokens", "n_sentences", *estimated("accuracy"), "baseline")
        + required(FLOAT64, *estimated("delta"))
        + optional(FLOAT64, *estimated("margin"), "baseline_margin")
        + required(INT32, "n_pairs", "n_suites")
        + required(TEXT, "scale")
    ),
    # One row per term of a mixed logistic regression of accuracy. `pair_std_error` is valid if
    # pairs recur, and `pair_p` is by the t distribution of `pair_df` degrees. Null without a fit.
    "context_regression": pa.schema(
        required(TEXT, "model", "dataset", "prefixes", "term")
        + optional(FLOAT64, "estimate", "std_error", "z", "p", "pair_std_error", "pair_df")
        + optional(FLOAT64, "pair_p", "sd_suite")
        + required(INT32, "n")
        + required(TEXT, "scale")
    ),
    # One row per target suite and prefix suite: accuracy after the prefix suite's acceptable
    # sentences, with 95% intervals.
    "context_matrix": pa.schema(
        required(TEXT, "model", "dataset", "target_suite", "prefix_suite")
        + required(FLOAT64, *estimated("accuracy"), "baseline", *estimated("delta"))
        + optional(FLOAT64, *estimated("relative_improvement"))
        + required(INT32, "n_pairs", "n_prefixes")
        + required(TEXT, "scale")
    ),
    # Mean F1 between the sentences of two suites, by unit (token, dependency).
    "context_overlap": pa.schema(
        required(TEXT, "dataset", "measure", "target_suite", "prefix_suite")
        + optional(FLOAT64, "f1")
        + required(TEXT, "scale")
    ),
    # Mean F1 of the first sentences of an acceptable prefix, one, two and so on, with its target.
    "context_prefix_overlap": pa.schema(
        required(TEXT, "measure", "prefix_id", "pair_id") + required(pa.list_(FLOAT64), "f1")
    ),
    # One row per point of a figure: a suite without and with a prefix (Figures 10, 11), or
    # a perturbation's similarity and change in accuracy (Figure 9).
    "context_points": pa.schema(
        required(TEXT, "model", "dataset", "analysis", "kind", "point")
        + required(FLOAT64, "x", "y")
        + required(INT32, "n_pairs")
        + required(TEXT, "scale")
    ),
    # One row per correlation of `x` with `y`, over `n` points.
    "context_correlations": pa.schema(
        required(TEXT, "model", "dataset", "analysis", "x", "y", "statistic")
        + optional(FLOAT64, "value", "p")
        + required(INT32, "n")
        + required(TEXT, "scale")
    ),
}
