"""Prefixes before sentences, and judgments after them."""

from __future__ import annotations

import pyarrow as pa

from lingprob.io.schemas.columns import FLOAT64, INT32, TEXT, TRUTH, estimated, optional, required

SCHEMAS = {
    # One prefix a row, and the pairs that it precedes; `source_ids` are the stimuli that it is made
    # of, `char_ends` where each ends. `suite` is the targets' (null: several), `source_suite` the
    # sentences' where it is one by design, `similarity` a perturbed prefix's to the original.
    "context_prefixes": pa.schema(
        required(TEXT, "dataset", "prefix_id", "kind")
        + optional(TEXT, "suite", "source_suite", "perturbation")
        + optional(FLOAT64, "similarity")
        + required(pa.list_(TEXT), "pair_ids")
        + required(TEXT, "text")
        + required(pa.list_(TEXT), "source_ids")
        + required(pa.list_(INT32), "char_ends")
    ),
    # One pair (or item of a suite) after one prefix at one length a row; without any at length 0.
    "context_judgments": pa.schema(
        required(TEXT, "model", "dataset", "suite")
        + optional(TEXT, "phenomenon")
        + required(TEXT, "pair_id", "prefix_id", "kind")
        + optional(TEXT, "source_suite", "perturbation")
        + required(INT32, "length", "prefix_tokens", "n_sentences")
        + required(TRUTH, "correct")
        + optional(FLOAT64, "margin")
    ),
    # One pair (or item of a suite) without a prefix under one BOS policy a row.
    "context_unprefixed_judgments": pa.schema(
        required(TEXT, "model", "dataset", "bos_policy", "suite")
        + optional(TEXT, "phenomenon")
        + required(TEXT, "pair_id")
        + required(TRUTH, "correct")
        + optional(FLOAT64, "margin")
    ),
    # Accuracy without a prefix of all of a data set's pairs, or one suite's of one phenomenon, and
    # one BOS policy a row, with its 95% interval.
    "context_unprefixed": pa.schema(
        required(TEXT, "model", "dataset", "bos_policy", "level", "group")
        + optional(TEXT, "phenomenon")
        + required(FLOAT64, *estimated("accuracy"))
        + required(INT32, "n_pairs")
        + required(TEXT, "scale")
    ),
    # Accuracy of a group of pairs (all, a phenomenon or a suite) under one kind of prefix a row,
    # with 95% intervals; `delta` is the difference to the same pairs without a prefix.
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
    # One term of a mixed logistic regression of accuracy a row; `pair_std_error` holds where pairs
    # recur, `pair_p` is by the t distribution of `pair_df` degrees. Null where no fit exists.
    "context_regression": pa.schema(
        required(TEXT, "model", "dataset", "prefixes", "term")
        + optional(FLOAT64, "estimate", "std_error", "z", "p", "pair_std_error", "pair_df")
        + optional(FLOAT64, "pair_p", "sd_suite")
        + required(INT32, "n")
        + required(TEXT, "scale")
    ),
    # Accuracy of one suite's pairs after acceptable sentences of another a row, with 95% intervals.
    "context_matrix": pa.schema(
        required(TEXT, "model", "dataset", "target_suite", "prefix_suite")
        + required(FLOAT64, *estimated("accuracy"), "baseline", *estimated("delta"))
        + optional(FLOAT64, *estimated("relative_improvement"))
        + required(INT32, "n_pairs", "n_prefixes")
        + required(TEXT, "scale")
    ),
    # Mean F1 between the sentences of two suites, by what is counted (token, dependency).
    "context_overlap": pa.schema(
        required(TEXT, "dataset", "measure", "target_suite", "prefix_suite")
        + optional(FLOAT64, "f1")
        + required(TEXT, "scale")
    ),
    # Mean F1 of the first sentences of an acceptable prefix, one, two and so on, with its target.
    "context_prefix_overlap": pa.schema(
        required(TEXT, "measure", "prefix_id", "pair_id") + required(pa.list_(FLOAT64), "f1")
    ),
    # One point of a figure's scatter a row: a suite without and with a prefix (Figures 10, 11), or
    # a perturbation's similarity and change in accuracy (Figure 9).
    "context_points": pa.schema(
        required(TEXT, "model", "dataset", "analysis", "kind", "point")
        + required(FLOAT64, "x", "y")
        + required(INT32, "n_pairs")
        + required(TEXT, "scale")
    ),
    # One correlation a row: what with what, over how many.
    "context_correlations": pa.schema(
        required(TEXT, "model", "dataset", "analysis", "x", "y", "statistic")
        + optional(FLOAT64, "value", "p")
        + required(INT32, "n")
        + required(TEXT, "scale")
    ),
}
