"""The tables that this room takes, by name."""

from lingprob.papers.rooms import Table

TABLES = {
    "linking_functions": Table("linking_functions", ("plot", "compare", "tabulate")),
    "intergroup_correlation": Table("intergroup_correlation"),
    "slopes": Table("frequency_slopes"),
    "bins": Table("frequency_bins", ("plot",)),
    "stimuli": Table("stimuli", ("compare",), "dataset"),
}
