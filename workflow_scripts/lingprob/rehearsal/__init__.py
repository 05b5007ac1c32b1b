"""Rehearsals: a scale's own jobs with stand-ins for what is large, to try a cluster by.

`stand_ins` changes settings and catalog once; what fetches or prepares something then makes a tiny
model (`models`) or a file in the documented format (`datasets`). Nothing else knows of it. All that
comes of it lies in a folder of its own (`folder`), and what states its scale states STAMP with it.
"""

STAMP = "REHEARSAL"
