"""The setting names an embedder: what is there is opened, `auto` is silent, and what cannot be had says what to do."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from tacit.domain.errors import ConfigError, Mistake
from tacit.providers.embedding.embedder_choice import open_embedder, survey, why_none
from tacit.providers.embedding.sentence import SentenceEncoder
from tests.raising import raises
from tests.unit.providers.embedding.small_models import bert_folder


@pytest.fixture
def home(tmp_path: Path) -> Path:
    return tmp_path / "home"


def elsewhere(code: str, *, env: dict[str, str] | None = None) -> str:
    """Run in a process of its own, with other packages or variables."""
    ran = subprocess.run(
        [sys.executable, "-c", f"from pathlib import Path\n{code}"],
        capture_output=True, text=True, check=True, env={**os.environ, **(env or {})},
    )  # fmt: skip
    return ran.stdout.strip()


def test_none_needs_nothing(home):
    assert open_embedder("none", home=home) is None


def test_auto_is_silent_where_nothing_is_installed_and_says_why_when_asked(home):
    assert open_embedder("auto", home=home) is None
    assert "tacit init --meaning" in why_none(home)


def test_auto_passes_over_what_is_broken_and_the_survey_tells_of_it(home):
    broken = bert_folder(home / "embedders" / "a-broken")
    (broken / "config.json").write_text("{")
    assert open_embedder("auto", home=home) is None
    assert "a-broken" in why_none(home)
    bert_folder(home / "embedders" / "b-good")
    assert isinstance(open_embedder("auto", home=home), SentenceEncoder)
    problems = [(sighting.folder.name, bool(sighting.problem)) for sighting in survey(home)]
    assert problems == [("a-broken", True), ("b-good", False)]


def test_without_the_extra_auto_is_none_and_a_named_folder_says_what_to_install(home):
    folder = bert_folder(home / "embedders" / "full")
    code = (
        "import sys\n"
        "class Away:\n"
        "    def find_spec(self, name, *_):\n"
        "        if name.partition('.')[0] == 'numpy': raise ModuleNotFoundError(name)\n"
        "import importlib.util as u\n"
        "real = u.find_spec\n"
        "u.find_spec = lambda name, *a: None if name == 'numpy' else real(name, *a)\n"
        "sys.meta_path.insert(0, Away())\n"
        "from tacit.providers.embedding.embedder_choice import open_embedder, why_none\n"
        f"home = Path({str(home)!r})\n"
        "print(open_embedder('auto', home=home))\n"
        "print(why_none(home))\n"
        f"try: open_embedder({str(folder)!r}, home=home)\n"
        "except Exception as e: print(type(e).__name__, e.hint)\n"
    )
    silent, why, named = elsewhere(code).splitlines()
    assert silent == "None"
    assert why.startswith(f"there is a model in {folder}, but numpy is missing: pip install")
    assert named.startswith("Mistake pip install 'tacit[semantic]'")


def test_a_folder_is_named_by_its_path_or_among_the_persons_own(home):
    wanted = bert_folder(home / "embedders" / "mine")
    by_name, by_path = open_embedder("mine", home=home), open_embedder(str(wanted), home=home)
    assert by_name is not None
    assert by_path is not None
    assert by_name.identity == by_path.identity


def test_a_bare_name_is_not_looked_for_in_the_working_folder(tmp_path, home, monkeypatch):
    monkeypatch.chdir(tmp_path)
    bert_folder(tmp_path / "mine")
    for choice in ("mine", "tmp/../mine"):
        with pytest.raises(ConfigError):
            open_embedder(choice, home=home)
    assert open_embedder("./mine", home=home) is not None


@pytest.mark.parametrize("name", ["config.json", "vocab.txt", "tokenizer_config.json", "model.safetensors"])
def test_a_pipe_in_place_of_a_file_is_refused_and_not_waited_for(tmp_path, home, name):
    folder = bert_folder(tmp_path / "piped")
    (folder / name).unlink(missing_ok=True)
    os.mkfifo(folder / name)
    with pytest.raises(ConfigError):
        open_embedder(str(folder), home=home).identity  # type: ignore[union-attr]  # noqa: B018


@pytest.mark.parametrize(
    "breaking",
    [
        lambda folder: os.truncate(folder / "model.safetensors", 1000),
        lambda folder: (folder / "vocab.txt").write_text(""),
        lambda folder: (folder / "vocab.txt").write_text("some\nwords\n"),
    ],
)
def test_auto_passes_over_a_model_that_only_its_files_show_to_be_broken(home, breaking):
    breaking(bert_folder(home / "embedders" / "a-broken"))
    good = bert_folder(home / "embedders" / "b-good")
    found = open_embedder("auto", home=home)
    assert found is not None
    assert found.identity == SentenceEncoder(good).identity


@pytest.mark.parametrize(
    "choice",
    [
        "",
        "~nobody-of-this-name/x",
        "no/such/folder",
        "Auto",
        "hub:a/b",
        "openai:x",
        "hashed",
    ],
)
def test_a_choice_that_means_nothing_is_a_mistake_with_a_hint(home, choice):
    with pytest.raises(Mistake) as raised:
        open_embedder(choice, home=home)
    assert raised.value.hint


def test_a_folder_with_something_else_in_it_is_a_mistake(tmp_path, home):
    (tmp_path / "notes.txt").write_text("hello")
    with raises(ConfigError, "no_weights"):
        open_embedder(str(tmp_path), home=home)
