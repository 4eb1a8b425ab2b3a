"""What Tacit needs from the world: language models, embedders, verifiers, and readers of agents' logs.

Each port declares what its callers use. The sandbox's is in `sandbox`, the extensions' in `extension`.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

from tacit.domain.evidence import Grade
from tacit.domain.stored import Mark
from tacit.domain.trajectory import Trajectory


class TrajectoryStream(Protocol):
    """The trajectories of one file. `next` raises `InvalidTrajectory` for an unreadable part, and may be called again."""

    @property
    def mark(self) -> Mark | None:
        """Once everything is read: where the unfinished attempt begins, to resume there; `None` if the format does not grow."""

    def __iter__(self) -> Iterator[Trajectory]: ...

    def __next__(self) -> Trajectory: ...


class TrajectoryReader(Protocol):
    """Turns one client's log into trajectories."""

    name: str

    def recognises(self, head: bytes, path: Path | None) -> bool:
        """Whether this looks like the reader's format, judged by its first bytes and its path."""

    def session_file(self, path: Path) -> Path | None:
        """Return the session's file if reading that one also reads this one, as with a subagent's file; else `None`."""

    def read(self, path: Path, *, start: Mark | None = None) -> TrajectoryStream:
        """Read a file, from the mark of an earlier reading on; a reader that cannot resume reads all of it again."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SessionPart:
    """One session of a file that holds many."""

    name: str
    workspace: str = ""
    """The folder that it began in."""
    size: int = 0
    modified_ns: int = 0
    """Size and time, in any unit that changes whenever the session does; the time since 1970 if it is known."""


class CollectionReader(TrajectoryReader, Protocol):
    """Reads files that hold many sessions, such as a client's database."""

    def parts(self, path: Path) -> Iterator[SessionPart]:
        """Yield the sessions of a file, subagents' left out; nothing where it cannot be read."""

    def read(self, path: Path, *, start: Mark | None = None, part: str = "") -> TrajectoryStream:
        """Read the named session with its subagents', or all of them."""


class LocatingReader(TrajectoryReader, Protocol):
    """Knows where its client keeps sessions on this machine, so that they are found without a path."""

    places: tuple[str, ...]
    """Patterns below the folder that the client keeps for the person (`config.environment.client_folders`)."""

    def workspace(self, path: Path) -> str:
        """Return the folder that the session in this file began in; empty where nothing tells."""


_FRAME_TOKENS = 256
"""What the frame of the messages around a prompt may take."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Prompt:
    """One question: our own instructions apart from the quoted material, and the form of the answer."""

    instructions: str
    material: str
    """Text of others, quoted as data."""
    schema: Mapping[str, Any]
    """JSON schema of the answer, an object."""
    max_output_tokens: int = 1200

    @property
    def tokens_at_most(self) -> int:
        """More than the prompt can take: no token is shorter than a byte, and messages have a frame."""
        written = len(f"{self.instructions}{self.material}".encode("utf-8", "replace"))
        return written + len(str(self.schema)) + _FRAME_TOKENS


@dataclass(frozen=True, slots=True, kw_only=True)
class Spending:
    """What was spent."""

    calls: int = 0
    input_tokens: int = 0
    output_tokens: int = 0
    usd: float = 0.0

    @property
    def tokens(self) -> int:
        """Read and written together."""
        return self.input_tokens + self.output_tokens

    def __add__(self, other: Spending) -> Spending:
        return Spending(
            calls=self.calls + other.calls,
            input_tokens=self.input_tokens + other.input_tokens,
            output_tokens=self.output_tokens + other.output_tokens,
            usd=self.usd + other.usd,
        )

    def __sub__(self, other: Spending) -> Spending:
        return Spending(
            calls=self.calls - other.calls,
            input_tokens=self.input_tokens - other.input_tokens,
            output_tokens=self.output_tokens - other.output_tokens,
            usd=self.usd - other.usd,
        )


class LanguageModel(Protocol):
    """Answers prompts within a budget. Whoever implements it keeps that: no call without room for it."""

    @property
    def name(self) -> str:
        """The model as a person would name it, such as `openai:gpt-5-mini`."""

    @property
    def vendor(self) -> str:
        """Who gets what is asked, such as `anthropic`; empty for a server of one's own."""

    @property
    def spent(self) -> Spending:
        """All that was spent on it since it was opened; what a call has cost is never less than this says."""

    def ask(self, prompt: Prompt) -> Mapping[str, Any]:
        """Give the answer as an object, its fields unchecked.

        Raises `OverBudget` before a call that might pass a limit, `ModelOutage` where no object came back.
        """


class Embedder(Protocol):
    """Turns texts into vectors of one space, so that nearness of meaning can be measured."""

    @property
    def identity(self) -> str:
        """Names the space: vectors under one identity may be compared, and no others."""

    @property
    def dimensions(self) -> int:
        """How many numbers a vector has."""

    def embed(self, texts: Sequence[str]) -> list[bytes]:
        """One vector for each text, of length 1, as little-endian 32-bit floats. Raises `ModelOutage` where none came."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Check:
    """The result of a verifier."""

    passed: bool
    verifier: str
    detail: str = ""
    grade: Grade = Grade.MACHINE
    """Who verified it."""
    doubt: str = ""
    """Why it is not independent of the judged run, such as tests that the run changed; empty: it is."""

    @property
    def counts_as(self) -> Grade:
        """The grade of the evidence: a check that the run itself could influence is a self-report."""
        return Grade.SELF if self.doubt else self.grade


class Verifier(Protocol):
    """Runs a check that the agent did not write; raises `VerifierOutage`, which is no evidence, if it could not be run."""

    def verify(self) -> Check:
        """Run the check."""
