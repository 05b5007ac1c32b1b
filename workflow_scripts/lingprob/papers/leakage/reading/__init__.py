"""Study 2, regressions of reading times on surprisal: analysis, figures, scorecard."""
