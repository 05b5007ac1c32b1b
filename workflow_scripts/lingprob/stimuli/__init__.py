"""Parse published and users' data sets of sentences to `stimuli` tables (`build.build_stimuli`).

A parser takes a data set's name, its catalog entry, the folder of its files and a seed, and returns
a `stimuli` table without `dataset`, and a `ratings` table.
"""
