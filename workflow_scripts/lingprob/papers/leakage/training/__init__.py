"""Study 2, training and fine-tuning without leakage: figures, scorecard."""
