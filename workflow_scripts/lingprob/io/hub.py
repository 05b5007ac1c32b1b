"""Repositories on the Hugging Face hub, and one clear message if a repository cannot be fetched."""

import os
from dataclasses import dataclass, field
from typing import Literal

import httpx2
from huggingface_hub import DatasetInfo, HfApi, ModelInfo, constants, get_token
from huggingface_hub.errors import (
    GatedRepoError,
    HfHubHTTPError,
    HFValidationError,
    OfflineModeIsEnabled,
    RepositoryNotFoundError,
    RevisionNotFoundError,
)

from lingprob.errors import LingprobError
from lingprob.io.download import Transient, Unavailable, patiently

# Keys of an entry for a model or data set that was fetched elsewhere.
OWN_KEYS = {"model": "`source: local` and `path:`", "dataset": "`path:`"}
WORDS = {"model": "model", "dataset": "data set"}


def hub_endpoint() -> str:
    """Return the hub's base URL: the environment variable HF_ENDPOINT, or the public one."""
    return (os.environ.get("HF_ENDPOINT") or constants.ENDPOINT).rstrip("/")


@dataclass(frozen=True)
class HubRepository:
    """A repository of models or data on the hub, at a revision (a commit, tag or branch)."""

    kind: Literal["model", "dataset"]
    name: str
    revision: str
    endpoint: str = field(default_factory=hub_endpoint)

    @property
    def title(self) -> str:
        """Return the kind and the name, for messages."""
        return f"{WORDS[self.kind]} repository {self.name!r}"

    def ask(self) -> ModelInfo | DatasetInfo:
        """Return the hub's description of the repository, with its commit and files.

        Raises LingprobError if it does not exist or needs a licence, or without an answer.
        """
        try:
            return patiently(self._info, f"{self.name} at {self.endpoint}")
        except GatedRepoError as error:
            raise self.gated() from error
        except (HFValidationError, RepositoryNotFoundError) as error:
            raise LingprobError(
                f"{self.title}: {self.endpoint} has none of this name that is public. Check "
                f"`repository` of the {WORDS[self.kind]}'s entry; for a private one set HF_TOKEN."
            ) from error
        except RevisionNotFoundError as error:
            raise LingprobError(
                f"{self.title} at {self.endpoint} has no revision {self.revision!r}. Check "
                f"`revision` of the {WORDS[self.kind]}'s entry: a commit, tag or branch."
            ) from error
        except HfHubHTTPError as error:
            if error.response.status_code in (401, 403):
                raise self.gated() from error
            raise self.unreachable(str(error)) from error
        except (Unavailable, OfflineModeIsEnabled, ValueError) as error:
            raise self.unreachable(str(error)) from error

    def gated(self) -> LingprobError:
        """Return the error for a repository whose licence must be accepted first."""
        found = "The token in use does not open it." if get_token() else ""
        folder = "datasets/" if self.kind == "dataset" else ""
        return LingprobError(
            f"{self.title} needs an accepted licence. {found} Accept it at "
            f"{self.endpoint}/{folder}{self.name}, make a token at "
            f"{self.endpoint}/settings/tokens, set HF_TOKEN to the token, and run again."
        )

    def unreachable(self, reason: str) -> LingprobError:
        """Return the error if the hub gives no answer or an invalid one."""
        return LingprobError(
            f"{self.title} could not be fetched from {self.endpoint}: {reason}\n"
            "Ways out:\n"
            "  run again, which continues the download;\n"
            "  or set HF_ENDPOINT to a mirror of the hub (and do not set HF_HUB_OFFLINE);\n"
            f"  or fetch the {WORDS[self.kind]} elsewhere, and give its entry in config.yaml "
            f"{OWN_KEYS[self.kind]};\n"
            "  or run with `--config scale=demo`, which needs no hub."
        )

    def _info(self) -> ModelInfo | DatasetInfo:
        try:
            return HfApi(endpoint=self.endpoint).repo_info(
                self.name,
                repo_type=self.kind,
                revision=self.revision,
                files_metadata=self.kind == "model",
                timeout=60,
            )
        except httpx2.TransportError as error:
            raise Transient(f"{type(error).__name__}: {error}") from error
        except HfHubHTTPError as error:
            status = error.response.status_code
            if status >= 500 or status == 429:
                raise Transient(f"HTTP {status}", status) from error
            raise
