"""The tables that this room takes, by name."""

from lingprob.papers.rooms import Table

TABLES = {
    "linking_functions": Table("linking_functions", ("plot", "compare", "tabulate")),
    "intergroup_correlation": Table("intergroup_correlation"),
    "slopes": Table("frequency_slopes"),
    "bins": Table("frequency_bins", ("plot",)),
    # Of one data set, whose bits a byte say how good models are.
    "sentence_scores": Table("sentence_scores", ("plot",), "model"),
    "draws": Table("linking_draws", ("plot", "compare", "tabulate")),
    "stimuli": Table("stimuli", ("plot", "compare"), "dataset"),
}
