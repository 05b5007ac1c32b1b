"""Pythia-like language models trained on leakage-free text, and fine-tuned on texts.

Modules: sizes, preshuffled and corpus (the examples), model (with its loss), trainer (steps and
checkpoints), launch (processes), fine_tuning (with perplexity).
"""
