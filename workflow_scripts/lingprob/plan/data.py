"""Which data set meets which model, under which conventions, and where each comes from."""

from __future__ import annotations

from lingprob.plan.contexts import Contexts
from lingprob.plan.reading import Reading
from lingprob.plan.scores import Scores


class Plan(Scores, Reading, Contexts):
    """What is scored, counted and drawn, by paper: `ratings` (morcela), `strings`
    (string_probability), `reading` (leakage) and `contexts` (context), over the same `sources`."""
