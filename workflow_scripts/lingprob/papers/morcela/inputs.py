"""The tables that this room takes, by name."""

from lingprob.papers.rooms import Table

TABLES = {
    "linking_functions": Table("linking_functions", ("plot", "compare", "tabulate")),
    "intergroup_correlation": Table("intergroup_correlation"),
    "slopes": Table("frequency_slopes"),
    "bins": Table("frequency_bins", ("plot",)),
    # Of one data set, for bits a byte.
    "sentence_scores": Table("sentence_scores", ("plot",), "model"),
    "sample_sizes": Table("sample_sizes", ("plot",)),
    "multiverse": Table("linking_functions", ("plot", "tabulate")),
    "decomposition": Table("decomposition"),
    "draws": Table("linking_draws", ("plot", "compare", "tabulate")),
    "stimuli": Table("stimuli", ("plot", "compare", "tabulate"), "dataset"),
    "predictions": Table("predicted_ratings", ("tabulate",)),
    "validation": Table("linking_validation", ("tabulate",)),
    "transfer": Table("linking_transfer", ("plot", "tabulate")),
    "shapes": Table("linking_shapes", ("plot", "tabulate")),
    "curves": Table("linking_curves", ("plot",)),
    "ordinal": Table("ordinal_fits", ("plot", "tabulate")),
}
