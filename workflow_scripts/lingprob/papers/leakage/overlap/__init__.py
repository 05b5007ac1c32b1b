"""Study 1, overlap of reading-time texts with corpora: analysis, figures, scorecard."""
