"""Which function parses the reading times of a catalog entry, by the parser that it names."""

from __future__ import annotations

from lingprob.errors import looked_up

PARSERS = {
    "brown_spr_means": "lingprob.reading.parsers.means:brown_spr",
    "brown_spr_times": "lingprob.reading.parsers.self_paced:brown_spr",
    "demo_reading_times": "lingprob.reading.parsers.simulated:demo",
    "dundee_first_pass": "lingprob.reading.parsers.dundee:first_pass",
    "geco_first_pass": "lingprob.reading.parsers.eye_tracking:geco_first_pass",
    "geco_total": "lingprob.reading.parsers.eye_tracking:geco_total",
    "natural_stories_maze": "lingprob.reading.parsers.self_paced:natural_stories_maze",
    "natural_stories_means": "lingprob.reading.parsers.means:natural_stories",
    "natural_stories_spr": "lingprob.reading.parsers.self_paced:natural_stories",
    "provo_first_pass": "lingprob.reading.parsers.eye_tracking:provo_first_pass",
    "provo_first_pass_means": "lingprob.reading.parsers.means:provo_first_pass",
    "provo_motr": "lingprob.reading.parsers.eye_tracking:provo_motr",
    "reading_times_table": "lingprob.reading.parsers.self_paced:table",
    "ucl_first_pass": "lingprob.reading.parsers.eye_tracking:ucl_first_pass",
    "ucl_self_paced": "lingprob.reading.parsers.self_paced:ucl",
}


def parser_function(corpus: str, parser: str) -> str:
    """Return `module:function` of a data set's parser. Raises LingprobError if there is none."""
    return looked_up("parser", parser, PARSERS, f"(datasets.{corpus}.parser)")
