"""Pythia-like language models trained on leakage-free text, and fine-tuned on texts.

Modules: sizes (what a model is), rows and corpus (examples), order and schedule (what each step
sees and how far it moves), model, loss, precision, parallel, trainer, checkpoint (training),
fine_tuning, perplexity (what came of it).
"""
