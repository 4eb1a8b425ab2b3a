"""The person's key and the list of signers: what opens, what counts, and what nobody can loosen."""

from __future__ import annotations

import json
import pickle
import subprocess
import sys
from datetime import UTC, datetime
from pathlib import Path

import pytest

from tacit.config.passphrase import new_key_at_terminal, unlock_at_terminal
from tacit.config.signers import FILE_NAME, KEY_FILE, Signers, forget_unlocked_key, unlocked_key
from tacit.config.signing_key import KeyCost, UnlockedKey, add_signer, add_statement, create_key, unlock
from tacit.domain.errors import Mistake, NotPermitted, StoreOutage
from tests.person import CHEAP, PASSPHRASE, give_key
from tests.raising import raises

NOW = datetime(2026, 3, 1, tzinfo=UTC)


@pytest.fixture
def home(tmp_path: Path) -> Path:
    give_key(tmp_path / "home")
    return tmp_path / "home"


def made(folder: Path, name: str = "bo") -> UnlockedKey:
    return create_key(folder, "another passphrase", name=name, at=NOW, cost=CHEAP)


def test_what_the_key_signs_counts_and_nothing_else(home: Path, tmp_path: Path) -> None:
    key, stranger = unlock(home, PASSPHRASE), made(tmp_path / "bo")
    signed = key.sign({"what": "approve", "hash": "é\n"})
    signers = Signers.read(home)
    assert signers.verified(signed) == {"what": "approve", "hash": "é\n"}
    assert signers.verified(stranger.sign({"what": "approve"})) is None
    signer, signature, body = signed.split(" ", 2)
    for broken in (
        "",
        " ",
        signer,
        f"{signer} zz {body}",
        f"{signer} {signature} {body} ",
        f"{signer} {signature[:-2]}ff {body}",
    ):
        assert signers.verified(broken) is None
    assert signers.verified(f"{stranger.fingerprint} {signature} {body}") is None


@pytest.mark.parametrize("guess", ["", "Correct horse battery", f"{PASSPHRASE} ", "\udce9" * 10])
def test_another_passphrase_does_not_open_it(home: Path, guess: str) -> None:
    with raises(NotPermitted, "wrong_passphrase"):
        unlock(home, guess)


@pytest.mark.parametrize(("passes", "memory"), [(2, 8192), (1, 16384)])
def test_another_cost_in_the_file_opens_nothing(home: Path, passes: int, memory: int) -> None:
    document = json.loads((home / KEY_FILE).read_text())
    (home / KEY_FILE).write_text(json.dumps(document | {"passes": passes, "memory": memory}))
    with raises(NotPermitted, "wrong_passphrase"):
        unlock(home, PASSPHRASE)


@pytest.mark.parametrize("change", [{"memory": 1 << 40}, {"passes": 1000}, {"passes": 0}, {"salt": "x"}, {"sealed": 3}])
def test_a_damaged_key_is_named(home: Path, change: dict[str, object]) -> None:
    document = json.loads((home / KEY_FILE).read_text())
    (home / KEY_FILE).write_text(json.dumps(document | change))
    with raises(StoreOutage, "key_unreadable"):
        unlock(home, PASSPHRASE)


def test_the_key_file_holds_no_seed_and_only_its_owner_reads_it(home: Path, tmp_path: Path) -> None:
    made(tmp_path / "bo")
    assert (tmp_path / "bo" / KEY_FILE).stat().st_mode & 0o777 == 0o600
    assert "seed" not in (tmp_path / "bo" / KEY_FILE).read_text()


def test_an_unlocked_key_is_not_copied_out_of_its_process(home: Path) -> None:
    with pytest.raises(TypeError):
        pickle.dumps(unlock(home, PASSPHRASE))


def test_a_replaced_list_is_noticed_and_counts_for_nothing(home: Path, tmp_path: Path) -> None:
    own, stranger = unlock(home, PASSPHRASE), made(tmp_path / "bo")
    signed = own.sign({"what": "approve"})
    (home / FILE_NAME).write_text("\n".join(stranger.signers.lines))
    assert Signers.read(home).verified(stranger.sign({"what": "approve"})) is None
    assert Signers.read(home).verified(signed) is None
    with raises(NotPermitted, "signers_replaced"):
        unlock(home, PASSPHRASE)


def test_a_removed_list_does_not_count_as_no_list(home: Path) -> None:
    (home / FILE_NAME).unlink()
    assert Signers.read(home).root
    assert not Signers.read(home).keys


def test_the_list_of_the_administrator_takes_precedence(home: Path, tmp_path: Path) -> None:
    system = tmp_path / "system"
    system.write_bytes((home / FILE_NAME).read_bytes())
    signed = unlock(home, PASSPHRASE).sign({"what": "approve"})
    (home / FILE_NAME).write_text("\n".join(made(tmp_path / "bo").signers.lines))
    assert Signers.read(home, system=str(system)).verified(signed)


def test_a_colleague_counts_once_a_signer_has_signed_for_them(home: Path, tmp_path: Path) -> None:
    colleague = made(tmp_path / "bo")
    signed, line = colleague.sign({"what": "approve"}), colleague.signers.lines[0]
    (home / FILE_NAME).write_text((home / FILE_NAME).read_text() + line + "\n")
    assert Signers.read(home).verified(signed) is None, "a line that nobody above it signed"
    assert add_signer(home, unlock(home, PASSPHRASE), line, at=NOW) == "bo"
    assert Signers.read(home).verified(signed)
    with raises(Mistake, "not_a_signer"):
        add_signer(home, unlock(home, PASSPHRASE), signed, at=NOW)


def test_only_a_signed_word_allows_the_open_policy(home: Path, tmp_path: Path) -> None:
    stranger = add_statement(tmp_path / "bo", made(tmp_path / "bo"), {"what": "policy", "strictness": "open"})
    with (home / FILE_NAME).open("a") as file:
        file.write(stranger.signers.lines[-1] + "\n")
    assert not Signers.read(home).allows_open
    key = add_statement(home, unlock(home, PASSPHRASE), {"what": "policy", "strictness": "open"})
    assert Signers.read(home).allows_open
    add_statement(home, key, {"what": "policy", "strictness": "strict"})
    assert not Signers.read(home).allows_open


def test_the_first_question_makes_the_key_and_later_ones_open_it(tmp_path: Path) -> None:
    forget_unlocked_key()
    home, asked = tmp_path / "new", list[str]()

    def ask(question: str) -> str:
        asked.append(question)
        return "several words here"

    key = new_key_at_terminal(home, name="ann", ask=ask, cost=CHEAP)
    assert len(asked) == 2
    opened = unlock_at_terminal(home, "approve lint", name="ann", ask=ask)
    assert (opened.fingerprint, len(asked)) == (key.fingerprint, 3)
    assert "approve lint" in asked[-1]
    assert unlock_at_terminal(home, "approve more", name="ann", ask=ask) is opened is unlocked_key()
    assert len(asked) == 3, "once for a process"


def test_two_different_passphrases_make_no_key(tmp_path: Path) -> None:
    answers = iter(["several words here", "other words here"] * 2 + ["short"])
    with raises(Mistake, "passphrases_differ"):
        new_key_at_terminal(tmp_path, name="ann", ask=lambda _: next(answers))
    assert not (tmp_path / KEY_FILE).exists()


def test_a_slip_while_choosing_a_passphrase_is_asked_again(tmp_path: Path) -> None:
    answers = iter(["short", "several words here", "several word here", "several words here", "several words here"])
    made = new_key_at_terminal(tmp_path, name="ann", ask=lambda _: next(answers), cost=CHEAP)
    assert unlock(tmp_path, "several words here").fingerprint == made.fingerprint
    assert next(answers, None) is None


def test_a_wrong_passphrase_may_be_corrected_twice(home: Path) -> None:
    forget_unlocked_key()
    with raises(NotPermitted, "wrong_passphrase"):
        unlock_at_terminal(home, "x", name="ann", ask=lambda _: "wrong")
    assert unlocked_key() is None
    answers = iter(["wrong", "wrong again", PASSPHRASE])
    unlock_at_terminal(home, "x", name="ann", ask=lambda _: next(answers))
    assert unlocked_key() is not None


def test_a_new_key_keeps_the_old_files_aside(home: Path) -> None:
    before = (home / KEY_FILE).read_bytes()
    made(home)
    assert (home / f"{KEY_FILE}.old").read_bytes() == before
    assert KeyCost().memory >= 64 << 20, "what people get is costly"


@pytest.mark.parametrize("what", ["policy", "signer"])
def test_what_a_colleague_signed_for_their_own_list_does_not_count_here(home: Path, tmp_path: Path, what: str) -> None:
    colleague, stranger = made(tmp_path / "bo"), made(tmp_path / "cy", "cy")
    add_signer(home, unlock(home, PASSPHRASE), colleague.signers.lines[0], at=NOW)
    if what == "policy":
        add_statement(tmp_path / "bo", colleague, {"what": "policy", "strictness": "open"})
    else:
        add_signer(tmp_path / "bo", colleague, stranger.signers.lines[0], at=NOW)
    with (home / FILE_NAME).open("a") as file:
        file.write(colleague.signers.lines[-1] + "\n")
    signers = Signers.read(home)
    assert not signers.allows_open
    assert set(signers.keys) == {signers.root, colleague.fingerprint}


@pytest.mark.skipif(sys.platform != "linux", reason="prctl is of Linux")
def test_no_other_process_reads_the_memory_of_one_that_was_unlocked(home: Path) -> None:
    code = (
        "import ctypes, pathlib\nfrom tacit.config.passphrase import unlock_at_terminal\n"
        f"before = ctypes.CDLL(None).prctl(3)\nunlock_at_terminal(pathlib.Path({str(home)!r}), 'x', name='ann', "
        f"ask=lambda question: {PASSPHRASE!r})\nprint(before, ctypes.CDLL(None).prctl(3))"
    )
    said = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert said.stdout.split() == ["1", "0"]
