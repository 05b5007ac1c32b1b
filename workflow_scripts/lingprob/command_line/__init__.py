"""The command `lingprob`: the façade's calls for people who have a file and no workflow."""

from __future__ import annotations
