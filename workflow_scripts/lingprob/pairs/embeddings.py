"""Sentence embeddings: the mean of a transformer's last layer over a sentence's tokens."""

from pathlib import Path

import numpy as np
import torch
from numpy.typing import NDArray
from transformers import AutoModel, AutoTokenizer
from transformers.utils import logging as transformers_logging

from lingprob.io.progress import Progress
from lingprob.models.folders import ONLY_DATA, check_folder, unloadable

BATCH = 128


class SentenceEmbedder:
    """A sentence-embedding model, which is called with texts.

    As for all embedding models in the catalog, an embedding is the mean over all tokens, including
    special tokens, scaled to length one.
    """

    def __init__(self, directory: str | Path, context_window: int, device: str = "auto") -> None:
        transformers_logging.disable_progress_bar()
        check_folder(Path(directory))
        try:
            self.tokenizer = AutoTokenizer.from_pretrained(directory, **ONLY_DATA)
            self.model = AutoModel.from_pretrained(
                directory, dtype=torch.float32, use_safetensors=True, **ONLY_DATA
            )
        except Exception as error:  # transformers raises many kinds of errors for unsuitable files
            raise unloadable(Path(directory), error, "sentence-embedding") from error
        self.context_window = context_window
        if device == "auto":
            device = "cuda" if torch.cuda.is_available() else "cpu"
        self.device = torch.device(device)
        self.model.to(self.device).eval()

    @torch.inference_mode()
    def __call__(self, texts: list[str]) -> NDArray[np.float32]:
        """Return an embedding of length one for each of n texts, float32 (n, width).

        Texts longer than the context window are cut. The catalog's data sets have no such sentence.
        """
        order = sorted(range(len(texts)), key=lambda place: len(texts[place]))
        rows: dict[int, NDArray[np.float32]] = {}
        with Progress(len(texts), "embedding", "sentences") as progress:
            for start in range(0, len(order), BATCH):
                places = order[start : start + BATCH]
                embedded = self._embed([texts[place] for place in places])
                rows.update(zip(places, embedded, strict=True))
                progress.advance(len(places))
        return np.stack([rows[place] for place in range(len(texts))])

    def _embed(self, texts: list[str]) -> NDArray[np.float32]:
        options = {"padding": True, "truncation": True, "max_length": self.context_window}
        encoded = self.tokenizer(texts, return_tensors="pt", **options).to(self.device)
        states = self.model(**encoded).last_hidden_state
        mask = encoded["attention_mask"].unsqueeze(-1).to(states.dtype)
        sums = (states * mask).sum(dim=1)
        return torch.nn.functional.normalize(sums, dim=1).cpu().numpy()
