"""Overlaps of texts with corpora, models trained on them, reading times and their regressions."""

import pyarrow as pa

from lingprob.io.schemas.columns import estimated, optional, required, result

# A trained model after fine-tuning, and the corpus that it is measured on.
TRAINED = (
    required("string", "model", "size")
    + required("int64", "parameters")
    + required("int32", "fine_tuning_steps")
    + required("string", "corpus")
)
SCHEMAS = {
    # One row per passage of the overlap stage's index, in the index's order.
    "overlap_passages": pa.schema(
        required("string", "corpus")
        + required("int32", "article_num")
        + required("string", "passage_id")
    ),
    # One row per longest overlap of a passage with a searched corpus, and per place of that length.
    # As published, `corpus` is the text, `article_num` its passage and `searched` the corpus.
    # Lengths are in tokens, `overlap_last_token` counts from 0 (-1 without overlap), and the n-gram
    # log-probability is log10. `below_threshold` has two versions: published (compat), corrected.
    "overlap": result(
        required("string", "searched", "origin", "corpus")
        + required("int32", "article_num")
        + optional("string", "passage_id")
        + required("int64", "article_len", "overlap_len", "overlap_last_token", "overlap_freq")
        + optional("float64", "5gram_logprob")
        + optional("bool", "below_threshold", "below_threshold_compat", "below_threshold_corrected")
        + optional("string", "overlap_text")
    ),
    # One row per passage and searched corpus (or file of it): the longest soft overlap, in folded
    # words (without case and punctuation), with `gaps` words replaced, left out or added.
    # `first_word` and `last_word` count as `word_index` does (null without an overlap).
    # `overlap_text` is the corpus's text.
    "soft_overlap": pa.schema(
        required("string", "searched", "corpus", "passage_id")
        + required("int32", "passage_words", "overlap_words", "gaps")
        + optional("int32", "first_word", "last_word")
        + required("string", "overlap_text", "scale")
    ),
    # One row per chunk of a searched corpus, with its longest overlap with any passage.
    "overlap_chunks": result(
        required("string", "searched", "chunk")
        + required("int64", "n_tokens", "overlap_tokens")
        + optional("string", "corpus", "passage_id")
        + required("int64", "last_token", "frequency")
        + required("string", "overlap_text")
        + required("bool", "leakage_free", "selected")
    ),
    # One row per trained model, number of fine-tuning steps and corpus of texts (or `all`).
    "perplexity": result(
        TRAINED + required("int64", "n_tokens") + required("float64", "perplexity")
    ),
    # One row per trained model and passage (from 0 in each corpus): the sum of its tokens'
    # log-probabilities.
    "passage_logprobs": result(
        TRAINED
        + required("int32", "passage")
        + required("int64", "n_tokens")
        + required("float64", "logprob")
    ),
    # One row per word of a text that people read. Words joined by single spaces are the passage.
    "words": pa.schema(
        required("string", "passage_id")
        + required("int32", "word_index")
        + required("string", "word")
        + optional("int32", "sentence_index")
    ),
    # One row per reader and word, or per word if times are means over readers (`subject_id` mean).
    # `excluded` is the reason why no regression uses a row. `partition` follows (fit, ...).
    "reading_times": pa.schema(
        required("string", "subject_id", "passage_id")
        + required("int32", "word_index")
        + optional("float64", "rt_ms")
        + optional("bool", "previous_fixated")
        + optional("string", "condition", "excluded", "partition")
    ),
    # One row per word of a text: surprisal (bits) with and without the correction for trailing
    # spaces, null if nothing precedes the word. Imported surprisals have one value for both and no
    # `n_tokens`.
    "surprisal": pa.schema(
        required("string", "passage_id")
        + required("int32", "word_index")
        + optional("float64", "surprisal", "surprisal_uncorrected")
        + optional("int32", "n_tokens")
    ),
    # One row per word form of a corpus.
    "word_counts": pa.schema(required("string", "word") + required("int64", "count")),
    # The gain from a model's surprisal in the regression of one data set: log-likelihoods (nats) of
    # the evaluated partition, coefficients in ms per standard deviation. `corrected` (for trailing
    # spaces) is null if it is not known.
    "delta_log_likelihood": result(
        required("string", "model", "dataset", "texts", "measure", "rt_source", "regression")
        + required("string", "context", "baseline_formula", "formula", "partition")
        + optional("bool", "corrected")
        + required("int64", "n_fit", "n_evaluated", "n_subjects")
        + required("float64", "log_likelihood_baseline", "log_likelihood", *estimated("delta"))
        + required("float64", "surprisal_ms", "surprisal_std_error")
        + required("float64", "previous_ms", "previous_std_error", "word_perplexity")
        + optional("float64", "token_perplexity")
        + required("bool", "converged", "singular")
    ),
    # One row per model, subject and item: their share of ΔLogLik (`of` delta, by sentence, with the
    # subject `mean` for means), or in log perplexity (by passage). It is the sum over `n` reading
    # times or words, in nats. `convention` is that of a published fit, or empty.
    "reading_gains": pa.schema(
        required("string", "dataset", "convention", "model", "of", "subject", "item")
        + required("float64", "nats")
        + required("int64", "n")
    ),
    # One row per fixed effect of a model's regression: ms per standard deviation of a predictor, or
    # the deviation of a condition from the mean over conditions, with the 95% interval.
    "reading_effects": result(
        required("string", "dataset", "model", "term")
        + required("float64", *estimated("ms"), "std_error")
        + required("bool", "converged", "singular")
    ),
    # One model's log-likelihood (nats) of the evaluated times minus another's, with its interval
    # over draws of `items` that both share, the p-value of a permutation test within items, and
    # this p-value corrected for all comparisons in the data set.
    "model_differences": result(
        required("string", "dataset", "rt_source", "model", "other")
        + required("float64", *estimated("difference"), "p", "p_holm")
        + required("int64", "n_evaluated")
        + required("string", "resampled")
        + required("int64", "items")
    ),
    # A slope over models of one family and state of fine-tuning, per tenfold of its predictor,
    # with intervals over draws of `items`. `change` is the effect of fine-tuning on the slope, and
    # `largest` the number of parameters of the largest model.
    "reading_trends": result(
        required("string", "dataset", "rt_source", "context")
        + optional("bool", "corrected")
        + required("string", "convention", "family")
        + optional("int64", "training_step")
        + required("int64", "fine_tuning_steps")
        + required("string", "of", "on")
        + required("int64", "models")
        + optional("float64", "largest")
        + required("float64", "slope")
        + optional("float64", "slope_low", "slope_high", "change", "change_low", "change_high")
        + optional("string", "resampled")
        + optional("int64", "items")
        + optional("float64", "std_error", "r", "p")
    ),
    # How many reading times of a data set are excluded for each reason, or in each partition.
    "reading_counts": result(
        required("string", "dataset", "rt_source", "fate") + required("int64", "rows")
    ),
    # One row per model and convention of a published fit to the means of Natural Stories: `delta`
    # is this run's value, `published_delta` the published one.
    "published_delta": result(
        required("string", "model", "convention", "description")
        + optional("float64", "published_delta", "published_perplexity")
        + required("float64", *estimated("delta"), "word_perplexity")
        + required("int64", "n")
    ),
}
