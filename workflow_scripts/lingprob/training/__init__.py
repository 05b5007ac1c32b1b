"""Train Pythia-like language models on leakage-free text, and fine-tune them on reading texts."""
