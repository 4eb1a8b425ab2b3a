"""PDF files that mean harm: they end at their limits with a refusal, and nothing in them is run, asked or unpacked."""

from __future__ import annotations

import socket
import subprocess
import sys
import threading
from pathlib import Path

import pytest

import tacit.features.research.documents.pdf_process as process
from tacit.domain.errors import Refusal
from tacit.features.research.documents.confined_process import ReadingLimits
from tacit.features.research.documents.reading import read
from tests.raising import raises
from tests.unit.features.research.documents.hostile_pdfs import GREEDY, acting
from tests.unit.features.research.documents.pdf_files import Run, pdf

READ_ALL_THE_SAME = {"tables_in_a_circle"}
"""What a reader can find its way round."""


@pytest.mark.parametrize("name", sorted(set(GREEDY) - READ_ALL_THE_SAME - {"millions_of_operators"}))
def test_a_greedy_file_is_refused_within_its_limits(name: str) -> None:
    with pytest.raises(Refusal) as refused:
        read(GREEDY[name](), name=f"{name}.pdf", limits=ReadingLimits(cpu_s=20, wall_s=60, memory_mb=512))
    assert name in refused.value.message
    assert refused.value.hint


def test_a_table_of_objects_in_a_circle_is_read_once() -> None:
    assert read(GREEDY["tables_in_a_circle"](), name="x.pdf").passages[0].text == "An innocent line of text."


def test_a_file_that_takes_too_long_is_given_up() -> None:
    limits = ReadingLimits(cpu_s=1, wall_s=60)
    with raises(Refusal, "reading_limit"):
        read(GREEDY["millions_of_operators"](), name="slow.pdf", limits=limits)


def test_the_clock_on_the_wall_ends_it_too() -> None:
    with raises(Refusal, "reading_limit"):
        read(GREEDY["millions_of_operators"](), name="slow.pdf", limits=ReadingLimits(wall_s=0.3))


def test_a_file_that_needs_too_much_memory_is_refused() -> None:
    with raises(Refusal, "reading_limit"):
        read(GREEDY["unpacking_without_end"](), name="large.pdf", limits=ReadingLimits(memory_mb=96))


def test_a_file_with_too_much_text_is_refused() -> None:
    page = [Run(72, 700 - n, "word " * 20) for n in range(500)]
    with raises(Refusal, "too_much_text"):
        read(pdf([page] * 30), name="wordy.pdf", limits=ReadingLimits(output_mb=1))


def test_a_file_larger_than_allowed_is_not_even_opened() -> None:
    with raises(Refusal, "file_too_large"):
        read(b"%PDF-1.5\n" + bytes(2 << 20), name="x.pdf", limits=ReadingLimits(input_mb=1))


def test_nothing_that_a_file_asks_for_is_done(tmp_path: Path) -> None:
    """It would start a program, run a script, ask a server and unpack a file, wherever it was shown."""
    canary, asked = tmp_path / "canary", []
    with socket.create_server(("127.0.0.1", 0)) as server:
        server.settimeout(0.2)
        listening = threading.Thread(target=lambda: asked.append(_accepted(server)))
        listening.start()
        address = f"http://127.0.0.1:{server.getsockname()[1]}/asked"
        reading = read(acting(str(canary), address), name="acting.pdf")
        listening.join()
    assert [passage.text for passage in reading.passages] == ["An innocent line of text."]
    assert asked == [False]
    assert list(tmp_path.iterdir()) == []


def _accepted(server: socket.socket) -> bool:
    try:
        server.accept()
    except TimeoutError:
        return False
    return True


TRYING = """
import json, sys
sys.argv = ["x"]
sys.path.insert(0, {folder!r})
import pdf_process
pdf_process.limit({{"cpu_s": 5, "memory_mb": 512}})
pdf_process.block_system_access([{folder!r}])
try:
    {attempt}
except PermissionError as error:
    print("refused:", error)
else:
    print("done")
"""


@pytest.mark.parametrize(
    "attempt",
    [
        "import subprocess; subprocess.run(['true'])",
        "import os; os.system('true')",
        "import os; os.fork()",
        "import os; os.posix_spawn('/bin/true', ['true'], {})",
        "import socket; socket.socket()",
        "import socket; socket.getaddrinfo('localhost', 80)",
        "open('/etc/passwd')",
        "import os; os.open('/etc/passwd', os.O_RDONLY)",
        "open({canary!r}, 'w')",
        "import os; os.remove({canary!r})",
        "import os; os.kill(1, 0)",
        "import ctypes; ctypes.CDLL(None)",
    ],
)
def test_the_process_that_reads_can_do_nothing_else(attempt: str, tmp_path: Path) -> None:
    """Whatever a flaw in the reader would let a file do, the process itself refuses."""
    canary = tmp_path / "canary"
    canary.write_text("here", encoding="utf-8")
    folder = str(Path(process.__file__).parent)
    program = TRYING.format(
        folder=folder, attempt=attempt.format(canary=str(canary)) if "canary" in attempt else attempt
    )
    done = subprocess.run(
        [sys.executable, "-I", "-c", program], capture_output=True, text=True, timeout=60, check=False
    )
    assert done.stdout.startswith("refused:"), done.stderr
    assert canary.read_text(encoding="utf-8") == "here"
