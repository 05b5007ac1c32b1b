"""Pythia-like language models trained on leakage-free text, and fine-tuned on texts.

Modules: sizes (what a model is), preshuffled, rows and corpus (examples, and their order), model
(with its loss), updates (from gradients to weights), trainer, checkpoint, parallel and launch
(training), fine_tuning, perplexity (what came of it).
"""
