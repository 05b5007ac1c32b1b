"""Sliding windows over a sequence that is longer than a model's context window."""

from __future__ import annotations

from typing import NamedTuple

from lingprob.errors import LingprobError


class Window(NamedTuple):
    """Tokens `start` to `end` (exclusive) are seen; `score_from` to `end` are scored here."""

    start: int
    end: int
    score_from: int


def sliding_windows(n_tokens: int, window: int, stride: int | None = None) -> list[Window]:
    """Cover `n_tokens` tokens with windows of at most `window`, each token scored exactly once.

    The first window scores all of its tokens. Later ones start `stride` tokens further on
    (default: half a window) and score only what is new, so every token after the first window
    has at least `window - stride` tokens of context. A start token before the sequence counts
    as one of the `n_tokens`.
    Raises LingprobError unless `window` is at least 2 and `stride` from 1 to `window - 1`.
    """
    stride = window // 2 if stride is None else stride
    if not 1 <= stride < window:
        raise LingprobError(
            f"windows of {window} tokens that advance by {stride}: the window must be at least "
            "2 tokens and the stride from 1 to window - 1, so that each new token has context."
        )
    windows = [Window(0, min(window, n_tokens), 0)] if n_tokens > 0 else []
    while windows and windows[-1].end < n_tokens:
        start, end, _ = windows[-1]
        windows.append(Window(start + stride, min(start + stride + window, n_tokens), end))
    return windows
