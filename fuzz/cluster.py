"""A campaign on a Ray cluster: the workers are actors there instead of processes here.

A `Cluster` takes the place of `campaign.Pool`. Numbers and cases go out, outcomes come back, and the state stays with
the one who started the campaign; so a campaign that was begun on a cluster goes on without it, and the
reverse. Nothing is sent but cases: the package itself, of the same version, must be installed on all nodes.

Ray starts a lost worker again elsewhere and repeats what it was working on, a few times.
"""

from __future__ import annotations

import re
import socket
from collections import Counter
from collections.abc import Iterator
from importlib import import_module
from typing import Any

from infernix.gbnf.errors import RequestError

from .campaign import Clock
from .case import Case
from .files import engine_version
from .job import Outcome, Settings, Worker

__all__ = ["Cluster"]

IN_FLIGHT = 2
"""Numbers that a worker has at a time, so that it never waits for the network."""
POLL_SECONDS = 0.25
CONNECT_SECONDS = 10.0
RESTARTS = 3
"""How often a worker whose process or node is gone is started again."""
REPEATS = 1
"""How often what it was working on is repeated: a case that takes its node along must not take all of them."""


class Member:
    """What runs on a node: one worker, with a process of its own for each engine, made at the first order."""

    def __init__(self, settings: Settings, versions: dict[str, str]) -> None:
        self.settings, self.versions = settings, versions
        self.worker: Worker | None = None

    def run(self, number: int, case: Case | None) -> Outcome:
        """See `Worker.run`. Raises RequestError where other versions are installed than where the campaign began."""
        if self.worker is None:
            here = versions(self.settings)
            if here != self.versions:
                raise RequestError(f"a node of the cluster has {here}, the campaign {self.versions}")
            self.worker = Worker(self.settings)
        return self.worker.run(number, case)


def versions(settings: Settings) -> dict[str, str]:
    """The versions of the engines of a campaign, as installed here."""
    return {name: engine_version(name) for name in settings.engines}


def knock(address: str) -> None:
    """Raise OSError at once if nothing listens at `[ray://]HOST:PORT`: Ray itself would wait there for minutes."""
    if match := re.fullmatch(r"(?:ray://)?(.+):(\d+)", address):
        socket.create_connection((match[1], int(match[2])), CONNECT_SECONDS).close()


class Cluster:
    """Workers on an existing Ray cluster; the same interface as `campaign.Pool`."""

    def __init__(self, settings: Settings, address: str, jobs: int | None = None) -> None:
        """Connect, and have `jobs` workers started, one for each processor of the cluster by default.

        Raises RequestError where Ray is missing, where nothing answers, and for more workers than processors.
        """
        try:
            self.ray = ray = import_module("ray")
        except ImportError:
            hint = "install the extra `ray`: pip install '.[ray]' in the checkout"
            raise RequestError(f"this needs the package ray; {hint}") from None
        try:
            knock(address)
            ray.init(address=address, log_to_driver=False, configure_logging=False)
        except (OSError, ValueError, RuntimeError) as error:
            raise RequestError(f"no Ray cluster at {address}: {error}") from None
        processors = int(ray.cluster_resources().get("CPU", 0))
        if not 1 <= (jobs or processors) <= processors:
            self.close()
            raise RequestError(f"{jobs or 1} workers are too many for a cluster with {processors} processors")
        actor = ray.remote(num_cpus=1, max_restarts=RESTARTS, max_task_retries=REPEATS)(Member)
        self.members = [actor.remote(settings, versions(settings)) for _ in range(jobs or processors)]

    def outcomes(self, orders: Iterator[tuple[int, Case | None]], clock: Clock) -> Iterator[Outcome | None]:
        """See `Pool.outcomes`. Raises RuntimeError if a worker is lost for good, or what it failed with."""
        load: Counter[Any] = Counter()
        owners: dict[Any, Any] = {}
        """Who works on the outcomes that have not come yet."""
        while True:
            for member in self.members:
                while load[member] < IN_FLIGHT and not clock.is_over() and (order := next(orders, None)):
                    owners[member.run.remote(*order)] = member
                    load[member] += 1
            if clock.is_over() or not owners:
                return
            ready, _ = self.ray.wait(list(owners), timeout=POLL_SECONDS)
            for reference in ready:
                load[owners.pop(reference)] -= 1
                yield self._receive(reference)
            if not ready:
                yield None

    def _receive(self, reference: Any) -> Outcome:
        try:
            outcome: Outcome = self.ray.get(reference)
        except self.ray.exceptions.RayTaskError as error:
            raise error.cause from None
        except self.ray.exceptions.RayError as error:
            raise RuntimeError(f"a worker of the cluster is lost: {error}") from None
        return outcome

    def close(self) -> None:
        """Leave the cluster, which ends the workers, and the engines with them."""
        self.ray.shutdown()
