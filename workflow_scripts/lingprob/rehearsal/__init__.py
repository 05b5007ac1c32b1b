"""Rehearsals: a folder in which a scale's own workflow runs in minutes, to try a cluster by.

`lingprob rehearse FOLDER` writes tiny models (`models`), made-up data in a user's formats
(`datasets`), and a `config.yaml` whose entries take the place of the catalog's. The
workflow itself knows nothing of it.
"""
