"""Judgements in context (Sinha et al. 2023): analysis, figures, scorecard."""
