"""How a service is reached: the table ``[service]`` of a model card. None of it is in a key.

    [service]
    base_url = "https://api.openai.com/v1"
    base_url_env = "OPENAI_BASE_URL"    where this variable is set, it wins
    api_key_env = "OPENAI_API_KEY"      the key's variable; the key itself is never stored
    timeout_s = 600
    max_retries = 6

On a cluster the variables have to be set where Ray runs: nothing carries a key from node to node.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated
from urllib.parse import urlsplit

import msgspec

from cache.request import Transport
from infer.errors import CardError, FeatureMissing


class Service(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Where a service is, whose key it takes, and how long and how often to try."""

    base_url: str = ""
    """Empty: the client library's own."""
    base_url_env: str = ""
    """Name of an environment variable that replaces ``base_url`` where it is set."""
    api_key_env: str = ""
    """Name of the environment variable that holds the key; empty: the service takes none."""
    timeout_s: Annotated[float, msgspec.Meta(gt=0)] = 600.0
    """Longest wait for a reply, or for the next piece of one that is streamed."""
    max_retries: Annotated[int, msgspec.Meta(ge=0, le=20)] = 6
    """Further tries after 429, 5xx, a time-out or a lost connection."""

    def address(self, environ: Mapping[str, str]) -> str:
        """Return the base URL.

        Raises:
            CardError: the URL is none, or carries a user name or a password.
        """
        url = (self.base_url_env and environ.get(self.base_url_env)) or self.base_url
        try:
            parts = urlsplit(url)
            sound = parts.scheme in ("http", "https") and bool(parts.hostname) and parts.port != 0
        except ValueError:  # brackets or a port that are none
            sound = False
        if url and not sound:
            shown = "the base URL" if "@" in url else f"base URL {url!r}"  # it may hold a password
            raise CardError(f"{shown}: expected http:// or https:// and a host")
        if "@" in parts.netloc:
            raise CardError(
                "the base URL carries a user name or password, and it is stored with each answer: "
                "keep secrets in the variable that service.api_key_env names"
            )
        return url

    def secret(self, name: str, environ: Mapping[str, str]) -> str:
        """Return the key of model ``name``'s service; empty where it takes none.

        Raises:
            FeatureMissing: the variable is not set.
        """
        found = environ.get(self.api_key_env, "") if self.api_key_env else ""
        if self.api_key_env and not found:
            raise FeatureMissing(
                f"model {name!r} needs an API key: set the environment variable {self.api_key_env}"
            )
        return found

    @property
    def deadline_s(self) -> float:
        """When an answer is given up, whatever the server sends to keep the line open."""
        return (self.timeout_s + 60.0) * (self.max_retries + 1)

    def transport(self, concurrency: int, environ: Mapping[str, str]) -> Transport:
        """Return what a record says of how its request travelled; empty without a service."""
        if self == Service():
            return Transport()
        return Transport(
            base_url=self.address(environ), timeout_s=self.timeout_s, concurrency=concurrency
        )
