"""The functions that parse data sets of stimuli and of reading times, by the name of the parser."""

from lingprob.errors import looked_up

TOKEN_ROWS = "token_rows"  # parser of corpora that consist of token ids, not of text
STIMULI = {
    "blimp": "lingprob.stimuli.pairs:json_pairs",
    "cola": "lingprob.stimuli.sentences:cola",
    "crows_pairs": "lingprob.stimuli.pairs:crows_pairs",
    "hll": "lingprob.stimuli.sentences:hll",
    "li_adger": "lingprob.stimuli.linguistic_inquiry:li_adger",
    "li_large": "lingprob.stimuli.linguistic_inquiry:li_large",
    "linguistic_inquiry": "lingprob.stimuli.linguistic_inquiry:linguistic_inquiry",
    "minimal_pairs": "lingprob.stimuli.demo_pairs:minimal_pairs",
    "scamp": "lingprob.stimuli.pairs:scamp",
    "sling": "lingprob.stimuli.pairs:json_pairs",
    "syntaxgym": "lingprob.stimuli.syntaxgym:syntaxgym",
    "syntaxgym_pairs": "lingprob.stimuli.syntaxgym:syntaxgym_pairs",
    "table": "lingprob.stimuli.own_sentences:own_sentences",
    "toy_strings": "lingprob.stimuli.sentences:toy_strings",
    "zhoblimp": "lingprob.stimuli.pairs:zhoblimp",
}
READING_TIMES = {
    "brown_spr_means": "lingprob.reading.self_paced:brown_spr_means",
    "brown_spr_times": "lingprob.reading.self_paced:brown_spr",
    "demo_reading_times": "lingprob.reading.self_paced:demo_reading_times",
    "dundee_first_pass": "lingprob.reading.eye_tracking:dundee_first_pass",
    "geco_first_pass": "lingprob.reading.eye_tracking:geco_first_pass",
    "geco_total": "lingprob.reading.eye_tracking:geco_total",
    "natural_stories_maze": "lingprob.reading.self_paced:natural_stories_maze",
    "natural_stories_means": "lingprob.reading.self_paced:natural_stories_means",
    "natural_stories_spr": "lingprob.reading.self_paced:natural_stories",
    "provo_first_pass": "lingprob.reading.eye_tracking:provo_first_pass",
    "provo_first_pass_means": "lingprob.reading.eye_tracking:provo_first_pass_means",
    "provo_motr": "lingprob.reading.eye_tracking:provo_motr",
    "reading_times_table": "lingprob.reading.own_reading:own_reading_times",
    "ucl_first_pass": "lingprob.reading.eye_tracking:ucl_first_pass",
    "ucl_self_paced": "lingprob.reading.self_paced:ucl",
}


def parser_function(dataset: str, parser: str) -> str:
    """Return `module:function` of a data set's parser. Raises LingprobError if there is none."""
    return looked_up("parser", parser, STIMULI | READING_TIMES, f"(datasets.{dataset}.parser)")
