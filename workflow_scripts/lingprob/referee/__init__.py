"""Our numbers and the papers' claims against the published ones."""
