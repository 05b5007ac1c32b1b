"""Training of Pythia-like language models on leakage-free text, and fine-tuning on reading texts.

Modules: sizes, preshuffled and corpus (the examples), model (with its loss), trainer (steps and
checkpoints), launch (processes), fine_tuning (with perplexity).
"""
