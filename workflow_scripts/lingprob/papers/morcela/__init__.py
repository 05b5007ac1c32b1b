"""MORCELA (Tjuatja et al. 2025): linking functions from log-probabilities to ratings."""

from lingprob.papers.rooms import Table

TABLES = {
    "linking_functions": Table("linking_functions"),
    "intergroup_correlation": Table("intergroup_correlation"),
    "slopes": Table("frequency_slopes", compared=False),
    "bins": Table("frequency_bins", compared=False),
    "stimuli": Table("stimuli", part="dataset", drawn=False),
}
