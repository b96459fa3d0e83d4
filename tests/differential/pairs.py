"""A real server and ours with the same flags, kept while scenarios ask for the same ones."""

from __future__ import annotations

import time

from .client import Client
from .compare import Comparison, compare
from .in_flight import UnseenError
from .scenario import Scenario
from .servers import Server, start

__all__ = ["Pairs"]

TRIES = 4  # a busy machine can be late for a scene; what was compared is never compared again


class Pairs:
    """Starts both servers when other flags are asked for, or fresh ones."""

    def __init__(self) -> None:
        self._wanted: object = None
        self._servers: list[Server] = []
        self.scenarios = 0
        self.fields = 0
        self.missed: list[str] = []
        self.seconds: list[float] = []

    def run(self, scenario: Scenario) -> Comparison:
        """Let the scenario's client talk to both, one after the other; anew where its scene was over too soon."""
        for _ in range(TRIES - 1):
            try:
                return self._once(scenario)
            except UnseenError as error:
                self.missed.append(f"{scenario.name}: {error}")
        return self._once(scenario)

    def _once(self, scenario: Scenario) -> Comparison:
        servers = self._start(scenario)
        transcripts = []
        self.seconds = []
        try:
            for server in servers:
                client = Client(server)
                begun = time.monotonic()
                try:
                    scenario.steps(client)
                finally:
                    client.close()
                transcripts.append(client.transcript)
                self.seconds.append(time.monotonic() - begun)
            result = compare(*transcripts)
        except BaseException:
            self.stop()
            raise
        if result.differences:
            self.stop()
        self.scenarios += 1
        self.fields += result.agreed
        return result

    def _start(self, scenario: Scenario) -> list[Server]:
        wanted = (scenario.flags, scenario.environment)
        if scenario.fresh or wanted != self._wanted or any(one.process.poll() is not None for one in self._servers):
            self.stop()
            self._servers = [start(name, scenario.flags, scenario.environment) for name in ("real", "ours")]
            for server in self._servers:
                server.wait_ready()
            self._wanted = wanted
        return self._servers

    def stop(self) -> None:
        """End both servers."""
        for server in self._servers:
            server.stop()
        self._servers, self._wanted = [], None
