"""MORCELA (Tjuatja et al. 2025): analysis, figures, scorecard."""
