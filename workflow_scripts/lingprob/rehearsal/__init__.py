"""Rehearsals: folders in which the workflow of a scale runs in minutes, for the test of a cluster.

`lingprob rehearse FOLDER` writes tiny models, made-up data in the formats of users' files, and a
`config.yaml` whose entries replace those of the catalog. The workflow is unchanged.
"""
