"""How fast models run, corpora stream and files arrive: `catalog/costs.yaml`, typed."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cache
from typing import Any

from lingprob.catalog import read_yaml

BYTES = {"float32": 4, "float16": 2, "bfloat16": 2}


@dataclass(frozen=True)
class Speeds:
    """Rates by device (`gpu`, or one core of a `cpu`), as measured or assumed (`costs.yaml`)."""

    table: dict[str, Any]

    def scoring(self, parameters: int, device: str, dtype: str) -> float:
        """Return tokens a second of a model that reads text: 2 FLOP a parameter and token.

        Several GPUs add no speed: the layers of a model that lies on them wait for each other.
        """
        return self._tokens("scoring", 2.0 * parameters, parameters, device, dtype)

    def generating(self, parameters: int, batch: int, device: str, dtype: str) -> float:
        """Return tokens a second of a model that writes `batch` texts side by side: as it reads
        them, and no more than its weights can be read of memory, once a step."""
        reading = self.scoring(parameters, device, dtype)
        if device == "cpu":
            return reading
        steps = self.table["gpu"]["bytes_per_second"] / (BYTES[dtype] * parameters)
        return float(min(reading, batch * steps))

    def training(self, flops_per_token: float, parameters: int, device: str, dtype: str) -> float:
        """Return tokens a second of one process that trains."""
        return self._tokens("training", flops_per_token, parameters, device, dtype)

    def scanning(self, parser: str) -> float:
        """Return the bytes a second that a corpus streams by."""
        return float(self.table["scanning"].get(parser, self.table["scanning"]["text"]))

    def downloading(self) -> float:
        """Return the bytes a second that arrive."""
        return float(self.table["downloading"]["bytes_per_second"])

    def sources(self) -> list[str]:
        """Return a line for each kind of speed that says what it rests on."""
        return [
            f"{name}: {'measured' if part['measured'] else 'ASSUMED'}: {part['source']}"
            for name, part in self.table.items()
        ]

    def _tokens(self, work: str, flops: float, parameters: int, device: str, dtype: str) -> float:
        if device == "cpu":
            near = min(
                self.table["cpu"][work],
                key=lambda point: abs(math.log(point["parameters"] / parameters)),
            )
            # A core has about the same FLOP/s at the nearest size.
            return float(near["tokens_per_second"] * near["parameters"] / parameters)
        gpu = self.table["gpu"]
        most = gpu["share_of_peak"][work] * gpu["peak"][dtype] / flops
        return float(min(most, gpu["most_tokens_per_second"]))


@cache
def speeds() -> Speeds:
    """Return the speeds of the catalog."""
    return Speeds(read_yaml("costs.yaml"))
