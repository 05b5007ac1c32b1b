"""Raw data sets to stimulus tables, a module a data set; `build.build_stimuli` picks the parser."""
