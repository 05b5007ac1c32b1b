"""Every Parquet schema of the project.

Log-probabilities are natural logarithms (nats). Every table is in long format; result tables state
the scale in a column.
"""

from __future__ import annotations

import pyarrow as pa

# Stands for a data set's name where several are taken together; no data set may be called so.
POOLED = "all data sets"


def required(name: str, kind: pa.DataType) -> pa.Field:
    """A column that may hold neither null nor NaN."""
    return pa.field(name, kind, nullable=False)


SCHEMAS: dict[str, pa.Schema] = {
    # One sentence a row; `rating` is the mean of its judgments (of z-scores where the data set has
    # them), `rating_source` human, simulated or null.
    "stimuli": pa.schema(
        [
            required("item_id", pa.string()),
            pa.field("pair_id", pa.string()),
            pa.field("condition", pa.string()),
            required("text", pa.string()),
            pa.field("context", pa.string()),
            pa.field("grammatical", pa.bool_()),
            pa.field("rating", pa.float64()),
            pa.field("rating_source", pa.string()),
            pa.field("phenomenon", pa.string()),
            pa.field("paradigm", pa.string()),
            required("language", pa.string()),
        ]
    ),
    # One judgment of one participant a row; `rating` is as given, `z` standardised within the
    # participant.
    "ratings": pa.schema(
        [
            required("participant_id", pa.string()),
            required("item_id", pa.string()),
            required("rating", pa.float64()),
            required("z", pa.float64()),
        ]
    ),
    # One token a row; `logprob` (nats) is null and `scored` false where nothing precedes it.
    "scores": pa.schema(
        [
            required("item_id", pa.string()),
            required("token_index", pa.int32()),
            required("token_id", pa.int32()),
            required("char_start", pa.int32()),
            required("char_end", pa.int32()),
            pa.field("logprob", pa.float32()),
            required("scored", pa.bool_()),
        ]
    ),
    # One sentence under one BOS policy and one unigram source a row; sums over scored tokens.
    "sentence_scores": pa.schema(
        [
            required("item_id", pa.string()),
            required("bos", pa.string()),
            required("unigrams", pa.string()),
            required("logprob", pa.float64()),
            pa.field("unigram_logprob", pa.float64()),
            required("n_tokens", pa.int32()),
            required("n_words", pa.int32()),
        ]
    ),
    # Additive statistics of a shard of a corpus or of generated text; shards merge by sums.
    # `total` counts sequences for the unigrahams estimator, tokens for a corpus.
    "unigram_sums": pa.schema(
        [
            required("token_id", pa.int32()),
            required("sum", pa.float64()),
            required("sum_of_squares", pa.float64()),
        ]
    ),
    # One vocabulary entry a row; `logprob` (nats) is smoothed as the metadata states.
    "unigrams": pa.schema(
        [
            required("token_id", pa.int32()),
            pa.field("count", pa.float64()),
            pa.field("std_error", pa.float64()),
            required("logprob", pa.float64()),
        ]
    ),
    # One linking function of one model under one convention a row.
    "linking_functions": pa.schema(
        [
            required(name, pa.string())
            for name in ("model", "dataset", "rating_source", "unigrams", "bos", "linking_function")
        ]
        + [required("default_convention", pa.bool_())]
        + [
            required(name, pa.float64())
            for name in ("r_cv", "r_cv_low", "r_cv_high", "r", "r_low", "r_high")
        ]
        + [
            pa.field(name, pa.float64())
            for name in ("beta", "beta_low", "beta_high", "gamma", "gamma_low", "gamma_high")
        ]
        + [required(name, pa.float64()) for name in ("sse", "aic", "bic")]
        + [
            required("predictors", pa.int32()),
            required("n", pa.int32()),
            required("scale", pa.string()),
        ]
    ),
    # One definition of the agreement between two groups of participants a row.
    "intergroup_correlation": pa.schema(
        [
            required("dataset", pa.string()),
            required("rating_source", pa.string()),
            required("definition", pa.string()),
            required("description", pa.string()),
            required("r", pa.float64()),
            required("r_low", pa.float64()),
            required("r_high", pa.float64()),
            required("draws", pa.int32()),
            required("scale", pa.string()),
        ]
    ),
    # One model's regression of token log-probability on unigram log-probability a row.
    "frequency_slopes": pa.schema(
        [
            required("model", pa.string()),
            required("corpus", pa.string()),
            required("unigrams", pa.string()),
            required("slope", pa.float64()),
            required("slope_std_error", pa.float64()),
            required("intercept", pa.float64()),
            required("r", pa.float64()),
            required("n_tokens", pa.int64()),
            required("scale", pa.string()),
        ]
    ),
    # The same tokens in bins of unigram log-probability: what the slope summarises.
    "frequency_bins": pa.schema(
        [
            required("model", pa.string()),
            required("corpus", pa.string()),
            required("bin_low", pa.float64()),
            required("bin_high", pa.float64()),
            required("n_tokens", pa.int64()),
            required("mean_unigram_logprob", pa.float64()),
            required("mean_logprob", pa.float64()),
            required("sd_logprob", pa.float64()),
        ]
    ),
    # One word of a reading-time corpus's text a row; words joined by single blanks are the passage.
    "words": pa.schema(
        [
            required("passage_id", pa.string()),
            required("word_index", pa.int32()),
            required("word", pa.string()),
            pa.field("sentence_index", pa.int32()),
        ]
    ),
    # One passage of the overlap stage's index a row, in the index's order.
    "overlap_passages": pa.schema(
        [
            required("corpus", pa.string()),
            required("article_num", pa.int32()),
            required("passage_id", pa.string()),
        ]
    ),
    # One longest overlap of a passage with a searched corpus a row, as many as there are places of
    # that length; lengths in tokens, `overlap_last_token` from 0 (-1 without overlap). The n-gram
    # log-probability is log10, as published; `below_threshold` by convention (compat, corrected).
    "overlap": pa.schema(
        [
            required("searched", pa.string()),
            required("origin", pa.string()),
            required("corpus", pa.string()),
            required("article_num", pa.int32()),
            pa.field("passage_id", pa.string()),
            required("article_len", pa.int64()),
            required("overlap_len", pa.int64()),
            required("overlap_last_token", pa.int64()),
            required("overlap_freq", pa.int64()),
            pa.field("5gram_logprob", pa.float64()),
            pa.field("below_threshold", pa.bool_()),
            pa.field("below_threshold_compat", pa.bool_()),
            pa.field("below_threshold_corrected", pa.bool_()),
            pa.field("overlap_text", pa.string()),
            required("scale", pa.string()),
        ]
    ),
    # One chunk of a searched corpus a row, with its longest overlap with any passage.
    "overlap_chunks": pa.schema(
        [
            required("searched", pa.string()),
            required("chunk", pa.string()),
            required("n_tokens", pa.int64()),
            required("overlap_tokens", pa.int64()),
            pa.field("corpus", pa.string()),
            pa.field("passage_id", pa.string()),
            required("last_token", pa.int64()),
            required("frequency", pa.int64()),
            required("overlap_text", pa.string()),
            required("leakage_free", pa.bool_()),
            required("selected", pa.bool_()),
            required("scale", pa.string()),
        ]
    ),
    # One pair a row: Levenshtein distances in characters and in words, and one less the cosine of
    # the sentences' embeddings.
    "minimalness": pa.schema(
        [
            required("pair_id", pa.string()),
            required("levenshtein_characters", pa.int32()),
            required("levenshtein_words", pa.int32()),
            required("cosine_distance", pa.float64()),
        ]
    ),
    # One sentence under one model a row; the metrics from `logprob` on (nats, or nats a token).
    "string_scores": pa.schema(
        [required(name, pa.string()) for name in ("model", "dataset", "item_id")]
        + [pa.field(name, pa.string()) for name in ("pair_id", "phenomenon", "paradigm")]
        + [required("grammatical", pa.bool_()), required("n_tokens", pa.int32())]
        + [pa.field("rating", pa.float64()), pa.field("rating_source", pa.string())]
        + [pa.field("cosine_distance", pa.float64()), required("logprob", pa.float64())]
        + [
            pa.field(name, pa.float64())
            for name in ("uniform_bayes_factor", "unigram_bayes_factor", "slor")
        ]
        + [required("mean_logprob", pa.float64()), pa.field("learned_weights", pa.float64())]
        + [required("scale", pa.string())]
    ),
    # One correlation over a data set's pairs, or over a bin or paradigm (`name`) of them, a row;
    # null where a variable does not vary.
    "string_correlations": pa.schema(
        [required("model", pa.string()), required("dataset", pa.string())]
        + [required("prediction", pa.int32())]
        + [required("subset", pa.string()), required("name", pa.string())]
        + [required("n", pa.int32())]
        + [pa.field(name, pa.float64()) for name in ("r", "r_low", "r_high")]
        + [pa.field(f"cosine_{name}", pa.float64()) for name in ("mean", "low", "high")]
        + [required("simulated", pa.bool_()), required("scale", pa.string())]
    ),
    # One metric on a data set, on a phenomenon of it, or on all data sets (POOLED), a row; null
    # where it is not defined.
    "string_separation": pa.schema(
        [required(name, pa.string()) for name in ("model", "dataset", "phenomenon", "metric")]
        + [required(f"n_{name}", pa.int32()) for name in ("grammatical", "ungrammatical", "pairs")]
        + [pa.field(name, pa.float64()) for name in ("auc", "auc_low", "auc_high")]
        + [pa.field(name, pa.float64()) for name in ("accuracy", "accuracy_low", "accuracy_high")]
        + [required("scale", pa.string())]
    ),
    # One point of a ROC curve a row.
    "string_roc": pa.schema(
        [required(name, pa.string()) for name in ("model", "dataset", "metric")]
        + [required("false_positive_rate", pa.float64())]
        + [required("true_positive_rate", pa.float64())]
        + [required("scale", pa.string())]
    ),
    # One trained model after some fine-tuning steps and one corpus's texts (or `all`) a row.
    "perplexity": pa.schema(
        [
            required("model", pa.string()),
            required("size", pa.string()),
            required("parameters", pa.int64()),
            required("fine_tuning_steps", pa.int32()),
            required("corpus", pa.string()),
            required("n_tokens", pa.int64()),
            required("perplexity", pa.float64()),
            required("scale", pa.string()),
        ]
    ),
    # One reader's time on one word a row, or a mean over readers (`subject_id` mean). `excluded`
    # says why a row is in no regression, `partition` (fit, exploratory, held_out) in which it is.
    "reading_times": pa.schema(
        [
            required("subject_id", pa.string()),
            required("passage_id", pa.string()),
            required("word_index", pa.int32()),
            pa.field("rt_ms", pa.float64()),
            pa.field("previous_fixated", pa.bool_()),
            pa.field("excluded", pa.string()),
            pa.field("partition", pa.string()),
        ]
    ),
    # One word of a text a row: surprisal (bits) with the correction for trailing blanks and
    # without; null where nothing precedes it. Imported ones have one value for both, no n_tokens.
    "surprisal": pa.schema(
        [
            required("passage_id", pa.string()),
            required("word_index", pa.int32()),
            pa.field("surprisal", pa.float64()),
            pa.field("surprisal_uncorrected", pa.float64()),
            pa.field("n_tokens", pa.int32()),
        ]
    ),
    # One word form of a corpus a row.
    "word_counts": pa.schema([required("word", pa.string()), required("count", pa.int64())]),
    # What a model's surprisal adds to the regression of one data set: log-likelihoods (nats) of the
    # evaluated partition; coefficients in ms per standard deviation. `corrected`, for trailing
    # blanks, is null where nobody knows.
    "delta_log_likelihood": pa.schema(
        [
            required(name, pa.string())
            for name in (
                "model",
                "dataset",
                "texts",
                "measure",
                "rt_source",
                "regression",
                "context",
                "baseline_formula",
                "formula",
                "partition",
            )
        ]
        + [pa.field("corrected", pa.bool_())]
        + [required(name, pa.int64()) for name in ("n_fit", "n_evaluated", "n_subjects")]
        + [
            required(name, pa.float64())
            for name in (
                "log_likelihood_baseline",
                "log_likelihood",
                "delta",
                "delta_low",
                "delta_high",
                "surprisal_ms",
                "surprisal_std_error",
                "previous_ms",
                "previous_std_error",
                "word_perplexity",
            )
        ]
        + [
            pa.field("token_perplexity", pa.float64()),
            required("converged", pa.bool_()),
            required("singular", pa.bool_()),
            required("scale", pa.string()),
        ]
    ),
    # One word a row: tokens and occurrences of the longest match with a corpus that ends at it, and
    # that covers it.
    "word_leakage": pa.schema(
        [
            required("passage_id", pa.string()),
            required("word_index", pa.int32()),
            required("ending_tokens", pa.int32()),
            required("ending_frequency", pa.int64()),
            required("covering_tokens", pa.int32()),
            required("covering_frequency", pa.int64()),
        ]
    ),
    # ΔLogLik of one model under one adjustment for leakage a row; `threshold` (tokens) is that of
    # the words left out, `left_out` their share of the reading times.
    "leakage_adjusted": pa.schema(
        [required(name, pa.string()) for name in ("dataset", "model", "rt_source", "adjustment")]
        + [pa.field("threshold", pa.int32()), required("left_out", pa.float64())]
        + [required(name, pa.int64()) for name in ("n_fit", "n_evaluated")]
        + [
            required(f"{name}{unit}", pa.float64())
            for unit in ("", "_by_time")
            for name in ("delta", "delta_low", "delta_high")
        ]
        + [required("converged", pa.bool_()), required("scale", pa.string())]
    ),
    # What an item adds to a model's ΔLogLik (a subject, or a sentence of means), or to its log
    # perplexity (a passage): the sum over `n` reading times or words, in nats.
    "reading_gains": pa.schema(
        [required(name, pa.string()) for name in ("dataset", "model", "of", "item_kind", "item")]
        + [required("nats", pa.float64()), required("n", pa.int64())]
    ),
    # A slope over models of one family and state of fine-tuning, per tenfold of what it is on, with
    # intervals over draws of items; `change` is what fine-tuning adds to the slope.
    "reading_trends": pa.schema(
        [required(name, pa.string()) for name in ("dataset", "rt_source", "context")]
        + [
            pa.field("corrected", pa.bool_()),
            required("convention", pa.string()),
            required("family", pa.string()),
            pa.field("training_step", pa.int64()),
            required("fine_tuning_steps", pa.int64()),
            required("of", pa.string()),
            required("on", pa.string()),
            required("models", pa.int64()),
            required("slope", pa.float64()),
            pa.field("slope_low", pa.float64()),
            pa.field("slope_high", pa.float64()),
            pa.field("change", pa.float64()),
            pa.field("change_low", pa.float64()),
            pa.field("change_high", pa.float64()),
            pa.field("resampled", pa.string()),
            pa.field("std_error", pa.float64()),
            pa.field("r", pa.float64()),
            pa.field("p", pa.float64()),
            required("scale", pa.string()),
        ]
    ),
    # How many reading times of a data set are excluded for each reason, or in each partition.
    "reading_counts": pa.schema(
        [
            required("dataset", pa.string()),
            required("rt_source", pa.string()),
            required("fate", pa.string()),
            required("rows", pa.int64()),
            required("scale", pa.string()),
        ]
    ),
    # One model's published fit to the means of Natural Stories under one convention a row.
    "published_delta": pa.schema(
        [required(name, pa.string()) for name in ("model", "convention", "description")]
        + [
            pa.field("published_delta", pa.float64()),
            pa.field("published_perplexity", pa.float64()),
        ]
        + [required(name, pa.float64()) for name in ("delta", "delta_low", "delta_high")]
        + [
            required("word_perplexity", pa.float64()),
            required("n", pa.int64()),
            required("scale", pa.string()),
        ]
    ),
    # One prefix a row, and the pairs that it precedes; `source_ids` are the stimuli that it is made
    # of, `char_ends` where each ends. `suite` is the targets' (null: several), `source_suite` the
    # sentences' where it is one by design, `similarity` a perturbed prefix's to the original.
    "context_prefixes": pa.schema(
        [
            required("dataset", pa.string()),
            required("prefix_id", pa.string()),
            required("kind", pa.string()),
            pa.field("suite", pa.string()),
            pa.field("source_suite", pa.string()),
            pa.field("perturbation", pa.string()),
            pa.field("similarity", pa.float64()),
            required("pair_ids", pa.list_(pa.string())),
            required("text", pa.string()),
            required("source_ids", pa.list_(pa.string())),
            required("char_ends", pa.list_(pa.int32())),
        ]
    ),
    # Tokens of a prefix up to the end of each sentence, under one tokenizer.
    "context_prefix_tokens": pa.schema(
        [
            required("tokenizer", pa.string()),
            required("prefix_id", pa.string()),
            required("n_tokens", pa.list_(pa.int32())),
        ]
    ),
    # One sentence (region 0) or critical region after one prefix cut at one length a row.
    "context_scores": pa.schema(
        [
            required("prefix_id", pa.string()),
            required("length", pa.int32()),
            required("prefix_tokens", pa.int32()),
            required("n_sentences", pa.int32()),
            required("pair_id", pa.string()),
            required("item_id", pa.string()),
            required("region", pa.int32()),
            required("logprob", pa.float64()),
            required("n_tokens", pa.int32()),
        ]
    ),
    # One pair (or item of a suite) after one prefix at one length a row; without any at length 0.
    "context_judgments": pa.schema(
        [
            required(name, pa.string())
            for name in ("model", "dataset", "suite", "phenomenon", "pair_id", "prefix_id", "kind")
        ]
        + [pa.field("source_suite", pa.string()), pa.field("perturbation", pa.string())]
        + [required(name, pa.int32()) for name in ("length", "prefix_tokens", "n_sentences")]
        + [required("correct", pa.bool_()), pa.field("margin", pa.float64())]
    ),
    # Accuracy of a group of pairs (all, a phenomenon or a suite) under one kind of prefix a row,
    # with 95% intervals; `delta` is the difference to the same pairs without a prefix.
    "context_accuracy": pa.schema(
        [required(name, pa.string()) for name in ("model", "dataset", "level", "group", "kind")]
        + [pa.field("perturbation", pa.string())]
        + [required("length", pa.int32()), required("prefix_tokens", pa.float64())]
        + [
            required(name, pa.float64())
            for name in (
                "accuracy",
                "accuracy_low",
                "accuracy_high",
                "baseline",
                "delta",
                "delta_low",
                "delta_high",
            )
        ]
        + [
            pa.field(name, pa.float64())
            for name in ("margin", "margin_low", "margin_high", "baseline_margin")
        ]
        + [
            required("n_pairs", pa.int32()),
            required("n_suites", pa.int32()),
            required("scale", pa.string()),
        ]
    ),
    # One term of a mixed logistic regression of accuracy a row; `pair_std_error` holds where pairs
    # recur. Null where no fit exists.
    "context_regression": pa.schema(
        [required(name, pa.string()) for name in ("model", "dataset", "prefixes", "term")]
        + [
            pa.field(name, pa.float64())
            for name in ("estimate", "std_error", "z", "p", "pair_std_error", "pair_p")
        ]
        + [
            pa.field("sd_suite", pa.float64()),
            required("n", pa.int32()),
            required("scale", pa.string()),
        ]
    ),
    # Accuracy of one suite's pairs after acceptable sentences of another a row.
    "context_matrix": pa.schema(
        [
            required(name, pa.string())
            for name in ("model", "dataset", "target_suite", "prefix_suite")
        ]
        + [required(name, pa.float64()) for name in ("accuracy", "baseline", "delta")]
        + [
            pa.field("relative_improvement", pa.float64()),
            required("n_pairs", pa.int32()),
            required("scale", pa.string()),
        ]
    ),
    # Mean F1 between the sentences of two suites, by what is counted (token, dependency).
    "context_overlap": pa.schema(
        [
            required(name, pa.string())
            for name in ("dataset", "measure", "target_suite", "prefix_suite")
        ]
        + [pa.field("f1", pa.float64()), required("scale", pa.string())]
    ),
    # One point of a figure's scatter a row: a suite without and with a prefix (Figures 10, 11), or
    # a perturbation's similarity and change in accuracy (Figure 9).
    "context_points": pa.schema(
        [required(name, pa.string()) for name in ("model", "dataset", "analysis", "kind", "point")]
        + [required("x", pa.float64()), required("y", pa.float64())]
        + [required("scale", pa.string())]
    ),
    # One correlation a row: what with what, over how many.
    "context_correlations": pa.schema(
        [
            required(name, pa.string())
            for name in ("model", "dataset", "analysis", "x", "y", "statistic")
        ]
        + [pa.field("value", pa.float64()), pa.field("p", pa.float64())]
        + [required("n", pa.int32()), required("scale", pa.string())]
    ),
    # Our numbers beside the published ones.
    "scorecard": pa.schema(
        [required(name, pa.string()) for name in ("paper", "item", "row", "column")]
        + [
            pa.field(name, pa.float64())
            for name in ("published", "ours", "difference", "tolerance")
        ]
        + [required(name, pa.string()) for name in ("verdict", "scale", "note")]
    ),
}
