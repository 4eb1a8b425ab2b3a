"""A web address as an agent: each question is posted as JSON, the decision comes back as JSON. Nothing is remembered.

Questions of one round are posted at the same time. A server that is not there ends the run, which can go on later; one that
answers too late, too much or nonsense loses that attempt, and so does one that sends elsewhere.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any

from tacit.domain.errors import Outage
from tacit.features.evaluate.actors.exchange import ANSWER_BYTES_MAX, Circumstances, Patience, read, worded, written
from tacit.features.evaluate.actors.lockstep import MAX_CALLS, Decision, Question, attempt
from tacit.features.evaluate.suite import Aid, Arm, Spent, World
from tacit.providers.posting import Endless, Garbled, Late, Unreachable, checked, post

TIMEOUT_S = 60.0
AT_ONCE = 8


class HttpActor:
    """Acts by what a server says."""

    def __init__(
        self, url: str, *, adapter: bool = False, timeout_s: float = TIMEOUT_S, max_calls: int = MAX_CALLS
    ) -> None:
        """`adapter` says that the server heeds the question's `adapter`."""
        checked(url, example="http://localhost:8000/act")
        self.name = url
        self._adapter = adapter
        self._timeout_s = timeout_s
        self._max_calls = max_calls
        self._patience = Patience(url)

    def objection(self, arm: Arm) -> str:
        """An adapter is the server's own affair; it has to be said that it has one."""
        return "this agent has no adapter" if arm.adapter and not self._adapter else ""

    def act(self, worlds: Sequence[World], aids: Sequence[Aid], *, adapter: bool = False, seed: int = 0) -> Spent:
        """Attempt all worlds, one call in each at a time."""
        around = Circumstances(adapter=adapter, seed=seed)
        with ThreadPoolExecutor(AT_ONCE) as pool:

            def decide(questions: Sequence[Question]) -> list[Decision]:
                asked = [worded(question, around) for question in questions]
                return [self._patience.seen(decision) for decision in pool.map(self._posted, asked)]

            return attempt(worlds, aids, decide, max_calls=self._max_calls)

    def _posted(self, asked: Mapping[str, Any]) -> Decision:
        try:
            answer = post(
                self.name,
                written(asked),
                headers={"Content-Type": "application/json"},
                timeout_s=self._timeout_s,
                most_bytes=ANSWER_BYTES_MAX,
            )
        except Late:
            return Decision(broken=f"the agent gave no answer within {self._timeout_s:g} seconds")
        except (Endless, Garbled) as error:
            return Decision(broken=f"the agent's server: {error}")
        except Unreachable as error:
            raise Outage(
                f"the agent at {self.name} is not there: {error}",
                hint="start it; the same command goes on where it was",
                retryable=True,
            ) from error
        if not answer.is_success:
            return Decision(broken=f"the agent's server answered {answer.status} {answer.reason}")
        return read(answer.data, asked)
