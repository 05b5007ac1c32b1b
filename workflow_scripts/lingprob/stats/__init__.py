"""Regressions of human judgments on language-model scores; agreement between participants."""
