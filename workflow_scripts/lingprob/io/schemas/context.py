"""Prefixes before sentences, and judgments after them."""

from __future__ import annotations

import pyarrow as pa

from lingprob.io.schemas.columns import FLOAT64, INT32, TEXT, TRUTH, estimated, optional, required

SCHEMAS = {
    # One row per prefix, with the pairs that it precedes. `source_ids` are the stimuli in it, and
    # `char_ends` the last character of each. `suite` is that of the targets (null: several),
    # `source_suite` that of the sentences if they have one by design. `similarity` is a perturbed
    # prefix's to the original.
    "context_prefixes": pa.schema(
        required(TEXT, "dataset", "prefix_id", "kind")
        + optional(TEXT, "suite", "source_suite", "perturbation")
        + optional(FLOAT64, "similarity")
        + required(pa.list_(TEXT), "pair_ids")
        + required(TEXT, "text")
        + required(pa.list_(TEXT), "source_ids")
        + required(pa.list_(INT32), "char_ends")
    ),
    # One row per pair (or item of a suite), prefix and length. Length 0 has no prefix.
    "context_judgments": pa.schema(
        required(TEXT, "model", "dataset", "suite")
        + optional(TEXT, "phenomenon")
        + required(TEXT, "pair_id", "prefix_id", "kind")
        + optional(TEXT, "source_suite", "perturbation")
        + required(INT32, "length", "prefix_tokens", "n_sentences")
        + required(TRUTH, "correct")
        + optional(FLOAT64, "margin")
    ),
    # One row per group of pairs (all, a phenomenon or a suite), kind and length of prefixes: their
    # accuracy with its 95% interval. `delta` is the difference to the same pairs without a prefix,
    # `similarity` is a perturbation's mean F1 with the original prefixes.
    "context_accuracy": pa.schema(
        required(TEXT, "model", "dataset", "level", "group", "kind")
        + optional(TEXT, "perturbation")
        + required(INT32, "length")
        + required(FLOAT64, "prefix_tokens", "n_sentences", "accuracy", "baseline", "delta")
        + optional(FLOAT64, "accuracy_low", "accuracy_high", "delta_low", "delta_high")
        + optional(FLOAT64, *estimated("margin"), "baseline_margin")
        + required(INT32, "n_pairs", "n_suites")
        + optional(FLOAT64, "similarity")
        + required(TEXT, "scale")
    ),
    # One row per term of a mixed logistic regression of accuracy. `std_error`, z and p are for
    # these suites, `suite_std_error` and `suite_p` (t of `suite_df` degrees) for suites like these.
    "context_regression": pa.schema(
        required(TEXT, "model", "dataset", "prefixes", "term")
        + optional(FLOAT64, "estimate", "std_error", "z", "p", "suite_std_error", "suite_df")
        + optional(FLOAT64, "suite_p", "sd_suite")
        + required(INT32, "n")
        + required(TEXT, "scale")
    ),
    # One row per target suite and prefix suite: accuracy after acceptable sentences of the latter,
    # with 95% intervals.
    "context_matrix": pa.schema(
        required(TEXT, "model", "dataset", "target_suite", "prefix_suite")
        + required(FLOAT64, *estimated("accuracy"), "baseline", *estimated("delta"))
        + optional(FLOAT64, *estimated("relative_improvement"))
        + required(INT32, "n_pairs", "n_prefixes")
        + required(TEXT, "scale")
    ),
    # One row per two suites and measure (token, dependency): the mean F1 of their sentences.
    "context_overlap": pa.schema(
        required(TEXT, "dataset", "measure", "target_suite", "prefix_suite")
        + optional(FLOAT64, "f1")
        + required(TEXT, "scale")
    ),
    # One row per acceptable prefix, target and measure: the mean F1 of the target with the first
    # sentence of the prefix, the first two, and so on.
    "context_prefix_overlap": pa.schema(
        required(TEXT, "measure", "prefix_id", "pair_id") + required(pa.list_(FLOAT64), "f1")
    ),
    # One row per correlation of x with y over n points, with its 95% interval if these are not
    # independent.
    "context_correlations": pa.schema(
        required(TEXT, "model", "dataset", "analysis", "x", "y", "statistic")
        + optional(FLOAT64, *estimated("value"), "p")
        + required(INT32, "n")
        + required(TEXT, "scale")
    ),
}
