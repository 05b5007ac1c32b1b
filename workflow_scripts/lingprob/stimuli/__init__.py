"""Parse published and users' data sets of sentences into `stimuli` tables (`build_stimuli`).

A parser takes a data set's name, its catalog entry, the folder of its files and a seed, and returns
a `stimuli` table without the column `dataset`, and a `ratings` table.
"""
