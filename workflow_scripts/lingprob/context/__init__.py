"""Draw prefixes, perturb them, and judge minimal pairs ("targets") after them."""
