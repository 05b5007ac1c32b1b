"""Tables of prefixes that precede sentences, and of judgments of the sentences after them."""

import pyarrow as pa

from lingprob.io.schemas.columns import estimated, optional, required, result

SCHEMAS = {
    # One row per prefix, with the pairs that it precedes. `source_ids` are the stimuli in the
    # prefix, and `char_ends` the places where they end. `suite` is the targets' (null: several).
    # `source_suite` is the prefix's, if it comes from one suite by design. `similarity` compares a
    # perturbed prefix with the original.
    "context_prefixes": pa.schema(
        required("string", "dataset", "prefix_id", "kind")
        + optional("string", "suite", "source_suite", "perturbation")
        + optional("float64", "similarity")
        + required(pa.list_(pa.string()), "pair_ids")
        + required("string", "text")
        + required(pa.list_(pa.string()), "source_ids")
        + required(pa.list_(pa.int32()), "char_ends")
    ),
    # One row per pair (or item of a suite), prefix and length. Length 0 means no prefix.
    "context_judgments": pa.schema(
        required("string", "model", "dataset", "suite")
        + optional("string", "phenomenon")
        + required("string", "pair_id", "prefix_id", "kind")
        + optional("string", "source_suite", "perturbation")
        + required("int32", "length", "prefix_tokens", "n_sentences")
        + required("bool", "correct")
        + optional("float64", "margin")
    ),
    # One row per group of pairs (all, a phenomenon or a suite), kind and length of prefixes: their
    # accuracy with its 95% interval. `delta` is the accuracy minus that of the same pairs without a
    # prefix. `similarity` is the mean F1 of perturbed and original prefixes.
    "context_accuracy": result(
        required("string", "model", "dataset", "level", "group", "kind")
        + optional("string", "perturbation")
        + required("int32", "length")
        + required("float64", "prefix_tokens", "n_sentences", "accuracy", "baseline", "delta")
        + optional("float64", "accuracy_low", "accuracy_high", "delta_low", "delta_high")
        + optional("float64", *estimated("margin"), "baseline_margin")
        + required("int32", "n_pairs", "n_suites")
        + optional("float64", "similarity")
    ),
    # One row per term of a mixed logistic regression of accuracy. `std_error`, z and p apply to
    # these suites alone, `suite_std_error` and `suite_p` (t with `suite_df` degrees of freedom) to
    # similar ones.
    "context_regression": result(
        required("string", "model", "dataset", "prefixes", "term")
        + optional("float64", "estimate", "std_error", "z", "p", "suite_std_error", "suite_df")
        + optional("float64", "suite_p", "sd_suite")
        + required("int32", "n")
    ),
    # One row per target suite and prefix suite: accuracy after acceptable prefixes of the prefix
    # suite, with 95% intervals.
    "context_matrix": result(
        required("string", "model", "dataset", "target_suite", "prefix_suite")
        + required("float64", *estimated("accuracy"), "baseline", *estimated("delta"))
        + optional("float64", *estimated("relative_improvement"))
        + required("int32", "n_pairs", "n_prefixes")
    ),
    # One row per two suites and measure (token, dependency): the mean F1 of their sentences.
    "context_overlap": result(
        required("string", "dataset", "measure", "target_suite", "prefix_suite")
        + optional("float64", "f1")
    ),
    # One row per acceptable prefix, target and measure: the mean F1 of the target with the first
    # sentence of the prefix, the first two, and so on.
    "context_prefix_overlap": pa.schema(
        required("string", "measure", "prefix_id", "pair_id")
        + required(pa.list_(pa.float64()), "f1")
    ),
    # One row per correlation of x with y over n points, with its 95% interval if these are not
    # independent.
    "context_correlations": result(
        required("string", "model", "dataset", "analysis", "x", "y", "statistic")
        + optional("float64", *estimated("value"), "p")
        + required("int32", "n")
    ),
}
