"""Prefixes before minimal pairs: sampled, perturbed, scored, and compared with their targets."""
