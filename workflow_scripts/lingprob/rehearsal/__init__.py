"""Rehearsals: a folder in which a scale's own workflow runs in minutes, to try a cluster by.

`lingprob rehearse FOLDER` writes tiny models (`models`), made-up data in the documented formats
(`datasets`), and a `config.yaml` whose entries take the place of the catalog's (`entries`). The
workflow itself knows nothing of it.
"""
