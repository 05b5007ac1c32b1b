"""Minimal pairs: how near their two sentences are in meaning, and an audit of them."""
