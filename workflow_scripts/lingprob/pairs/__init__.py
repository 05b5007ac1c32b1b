"""Minimal pairs: sentence embeddings for the distance in meaning, and audits."""
