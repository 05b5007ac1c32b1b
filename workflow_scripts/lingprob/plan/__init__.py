"""What runs and what it costs, decided before any job exists, from the settings and the catalog.

`Plan` says which data set meets which model under which conventions, and from which files;
`Costs` says what memory, minutes and GPUs a job asks for, by the `Work` that it is expected to do.
The rules ask both and decide nothing. Before either, `leave_out` takes from the settings what
nobody can fetch and is not there. `estimate` sums up what a run costs.
"""

from lingprob.plan.costs import BASE_MEMORY_MB, Costs
from lingprob.plan.data import Plan
from lingprob.plan.missing import note_on
from lingprob.plan.model_tables import model_tables, shown_models
from lingprob.plan.ngrams import ngram_inputs
from lingprob.plan.scores import SECTIONS
from lingprob.plan.sources import pick

__all__ = [
    "BASE_MEMORY_MB",
    "SECTIONS",
    "Costs",
    "Plan",
    "model_tables",
    "ngram_inputs",
    "note_on",
    "pick",
    "shown_models",
]
