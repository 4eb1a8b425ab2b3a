"""How well documents are read: known sentences on their pages, the order of columns, 300 pages, and files that mean harm.

The documents are written by the tests (`tests/unit/features/research/documents`), sentence by sentence, so that each one's page is known. Every
figure of the bare library is `pypdf`'s own text extraction of the same file. Other readers are measured too where they are
installed (`pip install pdfminer.six pypdfium2`), on the same files. Times are processor seconds; memory is the most that a
process held.

    python bench/documents.py [--out bench/results/documents.json]
"""

from __future__ import annotations

import argparse
import importlib.util
import json
import platform
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Mapping, Sequence
from itertools import pairwise
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[1]
sys.path.insert(0, str(ROOT))

from tacit.domain.errors import TacitError  # noqa: E402
from tacit.domain.stored import Passage  # noqa: E402
from tacit.features.research.documents.reading import read  # noqa: E402
from tests.unit.features.research.documents.hostile_pdfs import GREEDY, acting, unpacking_without_end  # noqa: E402
from tests.unit.features.research.documents.made_documents import DOCUMENTS, Made, three_hundred_pages  # noqa: E402

READERS = {
    "pypdf": (
        "pypdf",
        "import pypdf; texts = [page.extract_text() for page in pypdf.PdfReader(path).pages]",
    ),
    "pdfminer.six": (
        "pdfminer",
        "from pdfminer.high_level import extract_pages; from pdfminer.layout import LTTextContainer; "
        "texts = [''.join(e.get_text() for e in page if isinstance(e, LTTextContainer)) for page in extract_pages(path)]",
    ),
    "pypdfium2": (
        "pypdfium2",
        "import pypdfium2; texts = [page.get_textpage().get_text_bounded() for page in pypdfium2.PdfDocument(path)]",
    ),
}
_MEASURED = """
import json, resource, sys, time
path = sys.argv[1]
began = time.process_time()
{code}
spent = time.process_time() - began
peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
print(json.dumps({{"texts": texts, "cpu_s": spent, "peak_mb": peak}}))
"""


def flat(text: str) -> str:
    """A text as one line."""
    return " ".join(text.split())


def cited(made: Made, passages: Sequence[Passage]) -> dict[str, Any]:
    """How many sentences are found, how many with their page, and how many passages name one page alone."""
    texts = [(flat(passage.text), passage) for passage in passages]
    found = right = exact = 0
    for sentence, page in made.sentences.items():
        holding = [p for text, p in texts if abs(p.first_page - page) <= 3 and sentence in text]
        found += bool(holding)
        right += bool(holding) and all(p.first_page <= page <= p.last_page for p in holding)
        exact += any(p.first_page == page == p.last_page for p in holding)
    return {"sentences": len(made.sentences), "found": found, "on_the_right_page": right, "by_one_page_alone": exact}


def out_of_order(sentences: Mapping[str, int], pages: Sequence[str]) -> int:
    """Neighbouring sentences of a page that do not follow each other; one that is torn counts too."""
    wrong = 0
    for number, text in enumerate(pages, 1):
        places = [text.find(sentence) for sentence, page in sentences.items() if page == number]
        wrong += sum(before < 0 or after < before for before, after in pairwise(places))
    return wrong


def by_page(passages: Sequence[Passage], pages: int) -> list[str]:
    """All text of the passages that begin on each page."""
    return [
        flat(" ".join(p.text for p in passages if p.first_page <= page <= p.last_page)) for page in range(1, pages + 1)
    ]


def bare(name: str, made: Made) -> dict[str, Any]:
    """What a library does by itself with a file, in a process of its own."""
    module, code = READERS[name]
    if importlib.util.find_spec(module) is None:
        return {"installed": False}
    with tempfile.NamedTemporaryFile(suffix=".pdf") as file:
        file.write(made.data)
        file.flush()
        line = [sys.executable, "-c", _MEASURED.format(code=code), file.name]
        done = subprocess.run(line, capture_output=True, text=True, check=False)
    if done.returncode:
        return {"installed": True, "failed": done.stderr.strip().splitlines()[-1][:160]}
    answer = json.loads(done.stdout)
    texts = [flat(text) for text in answer.pop("texts")]
    whole = {sentence: page for sentence, page in made.sentences.items() if page <= len(texts)}
    right = sum(sentence in texts[page - 1] for sentence, page in whole.items())
    return {key: round(value, 2) for key, value in answer.items()} | {
        "on_the_right_page": right,
        "sentences": len(made.sentences),
        "out_of_order": out_of_order(made.sentences, texts),
    }


def measured(data: bytes, name: str) -> tuple[Any, dict[str, Any]]:
    """Read a file as Tacit does, and what that took: here, and in the process that reads."""
    before, began, wall = resource.getrusage(resource.RUSAGE_CHILDREN), time.process_time(), time.monotonic()
    try:
        result: Any = read(data, name=name)
    except TacitError as error:
        result = error
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    spent = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    return result, {
        "reader_cpu_s": round(spent, 2),
        "own_cpu_s": round(time.process_time() - began, 2),
        "wall_s": round(time.monotonic() - wall, 2),
    }


def memory(data: bytes) -> dict[str, float]:
    """The most that a file takes in memory: here, and in the process that reads."""
    code = (
        "import json, resource, sys; from pathlib import Path; from tacit.features.research.documents import read; "
        "read(Path(sys.argv[1]).read_bytes(), name='x.pdf'); "
        "print(json.dumps([resource.getrusage(who).ru_maxrss / 1024 for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]))"
    )
    with tempfile.NamedTemporaryFile(suffix=".pdf") as file:
        file.write(data)
        file.flush()
        done = subprocess.run([sys.executable, "-c", code, file.name], capture_output=True, text=True, check=True)
    own, reader = json.loads(done.stdout)
    return {"own_peak_mb": round(own, 1), "reader_peak_mb": round(reader, 1)}


def documents() -> dict[str, Any]:
    """The ten documents: what is found of each, or why it is refused."""
    told: dict[str, Any] = {}
    for name, make in DOCUMENTS.items():
        made = three_hundred_pages(18) if name == "three_hundred_pages" else make()
        result, spent = measured(made.data, f"{name}.pdf")
        if isinstance(result, TacitError):
            told[name] = {"refused": result.message, "expected": bool(made.refused)} | spent
            continue
        pages = by_page(result.passages, result.pages)
        told[name] = cited(made, result.passages) | {"out_of_order": out_of_order(made.sentences, pages)} | spent
        told[name] |= memory(made.data) if name == "three_hundred_pages" else {}
        told[name]["libraries"] = {reader: bare(reader, made) for reader in READERS}
    return told


def hostile() -> dict[str, Any]:
    """Files that mean harm: how each ends, and after how long."""
    files = {name: make() for name, make in GREEDY.items()}
    files["unpacking_to_a_gigabyte"] = unpacking_without_end(1024)
    told: dict[str, Any] = {}
    with tempfile.TemporaryDirectory() as folder:
        files["acting"] = acting(f"{folder}/canary", "http://127.0.0.1:9/asked")
        for name, data in files.items():
            result, spent = measured(data, f"{name}.pdf")
            ended = f"refused: {result.message}" if isinstance(result, TacitError) else "read"
            told[name] = {"kilobytes": len(data) >> 10, "ended": ended[:160]} | spent
        told["files_that_it_left"] = len(list(Path(folder).iterdir()))
    return told


def totals(told: Mapping[str, Any]) -> dict[str, Any]:
    """The sums of all documents that are to be read."""
    read_ones = [each for each in told.values() if "sentences" in each]
    sums = {
        key: sum(each[key] for each in read_ones) for key in ("sentences", "found", "on_the_right_page", "out_of_order")
    }
    shares = {f"share_{key}": round(sums[key] / sums["sentences"], 4) for key in ("found", "on_the_right_page")}
    refused = [each for each in told.values() if "refused" in each]
    return sums | shares | {"refused": len(refused), "refused_as_expected": sum(each["expected"] for each in refused)}


def main() -> None:
    """Measure, print and write."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--out", type=Path, default=ROOT / "bench" / "results" / "documents.json")
    out = parser.parse_args().out
    told = documents()
    commit = subprocess.run(["git", "rev-parse", "HEAD"], capture_output=True, text=True, check=False, cwd=ROOT)
    result = {
        "commit": commit.stdout.strip(),
        "python": platform.python_version(),
        "totals": totals(told),
        "documents": told,
        "hostile": hostile(),
    }
    out.write_text(json.dumps(result, indent=2) + "\n", encoding="utf-8")
    print(json.dumps({"totals": result["totals"], "hostile": result["hostile"]}, indent=2))


if __name__ == "__main__":
    main()
