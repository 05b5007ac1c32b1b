"""Sampling for unigrahams: speed against transformers' `generate`, and equality of distributions.

    python benchmarks/sampling.py [--quick] [--model DIRECTORY]

The work: 1,024 responses (--quick: 256) of 34 tokens from SmolLM2-135M in float32 on a CPU, after
<|endoftext|>, 128 at a time, on one thread. lingprob also sums the next-token distributions, which
is its purpose. `generate` only samples (do_sample, from the whole distribution).
The last column is the p of a chi-square test that both draw from one distribution: tokens of each
of the first places of a response, the most frequent ones apart and the others together, by Holm's
smallest p over the places. Responses are independent, and so are the tokens of one place.
"""

import sys
from typing import Any

from rival import ROOT, START_TOKEN, Clock, Workers, finish, options_of, start, write

sys.path.insert(0, str(ROOT / "workflow_scripts"))

LENGTH, ROWS, SEED = 34, 128, 1
PLACES = 8  # of a response, that are compared
EXPECTED = 10  # draws of a token over both, at least, to be compared by itself

Tokens = list[list[int]]  # a response each


def measure_ours(model: str, responses: int, _options: dict[str, Any]) -> dict[str, Any]:
    """Sample as the workflow does and keep the draws, without counting the time to load."""
    import numpy as np

    from lingprob.models.loading import load_language_model
    from lingprob.unigrams import unigrahams

    lm = load_language_model(model, device="cpu", dtype="float32")
    start_id = lm.start_id(START_TOKEN)
    assert start_id is not None
    draw, drawn = unigrahams._draw, []

    def keep(probabilities: Any, uniforms: np.ndarray) -> Any:
        drawn.append(draw(probabilities, uniforms))
        return drawn[-1]

    unigrahams._draw = keep
    clock = Clock()
    sampling = unigrahams.Sampling(responses, SEED, length=LENGTH, batch_size=ROWS)
    unigrahams.unigrahams_sums(lm, [start_id], sampling)
    measured = clock.read()
    steps = LENGTH - 1
    batches = [np.hstack(drawn[first : first + steps]) for first in range(0, len(drawn), steps)]
    return {"totals": np.vstack(batches).tolist(), **measured}


def measure_generate(model: str, responses: int, _options: dict[str, Any]) -> dict[str, Any]:
    """Sample by transformers' own loop."""
    import torch
    from transformers import AutoModelForCausalLM, AutoTokenizer

    torch.manual_seed(SEED)
    lm = AutoModelForCausalLM.from_pretrained(model, dtype=torch.float32).eval()
    start_id = AutoTokenizer.from_pretrained(model).convert_tokens_to_ids(START_TOKEN)
    lm.generation_config.eos_token_id = None  # the end of a text is a token like any other
    clock, drawn = Clock(), []
    prompts = torch.full((ROWS, 1), start_id)
    for _ in range(0, responses, ROWS):
        # The mask is said, for a prompt of the padding token would be taken for none.
        tokens = lm.generate(
            prompts, attention_mask=torch.ones_like(prompts), pad_token_id=start_id,
            do_sample=True, top_k=0, top_p=1.0, temperature=1.0, max_new_tokens=LENGTH,
        )  # fmt: skip
        drawn += tokens[:, 1:LENGTH].tolist()
    return {"totals": drawn, **clock.read()}


WORKERS: Workers = {"ours": measure_ours, "generate": measure_generate}


def agreement(ours: Tokens, theirs: Tokens) -> float:
    """Return the smallest p over the places times their number: small if draws differ."""
    from collections import Counter

    from scipy.stats import chi2_contingency

    smallest = 1.0
    for place in range(PLACES):
        counts = [Counter(response[place] for response in drawn) for drawn in (ours, theirs)]
        apart = [token for token, n in (counts[0] + counts[1]).items() if n >= EXPECTED]
        table = [[count[token] for token in apart] for count in counts]
        table = [[*row, len(ours) - sum(row)] for row in table]
        smallest = min(smallest, chi2_contingency(table).pvalue)
    return min(1.0, smallest * PLACES)


def main() -> None:
    """Parse the command line and run the benchmark or a worker of it."""
    options = options_of(__doc__, "256 responses, about a minute", WORKERS)
    if options is None:
        return
    responses = 256 if options.quick else 1024
    rows: list[dict[str, Any]] = []
    for worker, system in (("ours", "lingprob"), ("generate", "transformers' generate")):
        result = finish(start(worker, sys.executable, options.model, responses))
        rows.append({"task": "unigrahams", "system": system, "size": responses, **result})
        rows[-1]["per_second"] = responses / result["seconds"]
    rows[0]["ratio_to_rival"] = rows[1]["cpu_seconds"] / rows[0]["cpu_seconds"]
    rows[0]["agreement"] = agreement(rows[0]["totals"], rows[1]["totals"])
    write("sampling", rows)
    print(
        f"sampling ratio={rows[0]['ratio_to_rival']:.2f} agreement={rows[0]['agreement']:.1e} "
        f"peak_mb={rows[0]['peak_mb']:.0f}"
    )


if __name__ == "__main__":
    main()
