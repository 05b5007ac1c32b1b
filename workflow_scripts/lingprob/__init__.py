"""lingprob: how a language model's probabilities relate to human language."""

__version__ = "0.1.0"
