"""String probability and grammaticality (Hu et al. 2026): analysis, figures, scorecard."""
