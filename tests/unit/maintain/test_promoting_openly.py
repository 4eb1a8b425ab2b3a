"""What a promotion tells before and after: the record and what speaks against it go along, and a name means one skill."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tacit.api import Loop
from tacit.domain.candidate import Relation
from tacit.domain.care import CareKind
from tacit.domain.evidence import Outcome
from tacit.domain.lifecycle import Status, Transition
from tacit.domain.ports import Stored
from tacit.domain.remark import About, Remark, noted, record_elsewhere
from tacit.domain.scope import Level, Scope
from tacit.domain.skill import Kind
from tacit.maintain import promotion as promoting
from tacit.store import queries as shelf
from tests.unit.maintain.test_promoting import KINDS, World, approved, lesson, result
from tests.unit.making import NOW, content


@pytest.fixture(params=KINDS)
def place(tmp_path: Path, request: pytest.FixtureRequest) -> Iterator[World]:
    made = World(tmp_path, request.param)
    yield made
    for loop in made.loops:
        loop.close()


def measured(loop: Loop, stored: Stored, *, worked: int, of: int) -> None:
    for number in range(of):
        outcome = Outcome.SUCCESS if number < worked else Outcome.FAILURE
        piece = result(stored.version.id, use=f"u_{number}", outcome=outcome)
        loop.store.add_evidence(dataclasses.replace(piece, task=f"task {number}", id=""))


def weighed(loop: Loop, name: str, **how: Any) -> promoting.Weighed:
    ask = promoting.asked(loop, at=NOW, by="ann")
    return promoting.weigh(loop, name, Scope(Level.ORGANISATION), ask, **how)


def moved(stored: Stored, after: Status, **fields: Any) -> Transition:
    return Transition(
        version_id=stored.version.id,
        content_hash=stored.version.hash,
        before=fields.pop("before", stored.status),
        after=after,
        reason=fields.pop("reason", "works clearly less often than in 70 %"),
        by="tacit.tend",
        at=NOW,
        **fields,
    )


# --- what speaks against it ----------------------------------------------------------------------------------------


def test_nothing_speaks_against_what_is_portable_and_not_measured(place: World) -> None:
    shop = place.project("shop")
    approved(shop, lesson())
    found = weighed(shop, "restart-the-worker")
    assert (found.record, found.against, found.scope) == ("", (), Scope(Level.ORGANISATION))


def test_a_poor_record_speaks_against_it_and_a_good_one_does_not(place: World) -> None:
    shop = place.project("shop")
    stored = approved(shop, lesson())
    measured(shop, stored, worked=11, of=25)
    found = weighed(shop, "restart-the-worker")
    assert found.record.startswith("worked in 11 of 25 verified uses")
    [against] = found.against
    assert "11 of 25" in against
    good = approved(shop, lesson("Rebuild the search index after an import", name="rebuild-the-index"))
    measured(shop, good, worked=24, of=25)
    assert weighed(shop, "rebuild-the-index").against == ()


def test_that_evidence_took_it_out_of_use_before_speaks_against_it(place: World) -> None:
    shop = place.project("shop")
    stored = approved(shop, lesson())
    shop.store.add_transition(moved(stored, Status.RETIRED, evidence_ids=("e_1",)))
    shop.review(stored.version.id, "restore", by="ann")
    [against] = weighed(shop, "restart-the-worker").against
    assert "took it out of use" in against
    assert "less often than in 70 %" in against


def test_what_contradicts_it_speaks_against_it_noted_or_not(place: World) -> None:
    shop = place.project("shop")
    norm = {"kind": Kind.NORM, "steps": (), "category": ""}
    one = approved(shop, content(name="use-pnpm", description="Use pnpm, not npm, to install packages.", **norm))
    other = approved(shop, content(name="tabs", description="Indent with tabs in every file.", **norm))
    assert weighed(shop, "use-pnpm").against == ()
    remark = Remark(subject=other.version.id, other=one.version.id, about=About.CONTRADICTION, by="tacit", at=NOW)
    shop.store.add_remark(remark)
    assert weighed(shop, "use-pnpm").against == ("`tabs` contradicts it",)
    shop.review(other.version.id, "retire", by="ann")
    assert weighed(shop, "use-pnpm").against == ()
    approved(shop, content(name="use-npm", description="Use npm, not pnpm, to install packages.", **norm))
    assert weighed(shop, "use-pnpm").against == ("`use-npm` contradicts it",)


def test_files_of_the_project_and_its_name_speak_against_it_until_they_are_rewritten(place: World) -> None:
    shop = place.project("shop")
    (place.folder / "shop" / "stamp.py").write_text("")
    approved(shop, lesson("Renew the tables of the shop", body="Run `python3 stamp.py resync`."))
    against = "\n".join(weighed(shop, "restart-the-worker").against)
    assert "`shop`" in against
    assert "`stamp.py`" in against
    assert weighed(shop, "restart-the-worker", rewrite=True).against == ()


def test_within_the_project_it_need_not_be_portable(place: World) -> None:
    shop = place.project("shop")
    shop.propose(lesson("Ask ledger.corp for it when a booking is missing"), by="agent", scope=Scope.parse("session:a"))
    ask = promoting.asked(shop, at=NOW, by="ann")
    assert promoting.weigh(shop, "restart-the-worker", Scope(Level.PROJECT), ask).against == ()


# --- the record goes along -----------------------------------------------------------------------------------------


def test_the_record_is_told_wherever_it_is_promoted_to_and_counts_nowhere(place: World) -> None:
    shop, billing = place.project("shop"), place.project("billing")
    stored = approved(shop, lesson())
    measured(shop, stored, worked=11, of=25)
    done = shop.promote("restart-the-worker", by="ann")
    billing.adopt()
    for store in (place.at_home().store, billing.store):
        told = record_elsewhere(store.remarks(done.skill_id, about=About.PROMOTION))
        assert told.startswith("in shop it worked in 11 of 25 verified uses")
        assert store.evidence([done.version_id])[done.version_id] == []
    [item] = billing.recall("restart the celery worker").items
    assert "in shop it worked in 11 of 25 verified uses" in item.text


def test_a_second_step_takes_nothing_away_from_a_poor_record(place: World) -> None:
    shop, billing = place.project("shop"), place.project("billing")
    stored = approved(shop, lesson())
    measured(shop, stored, worked=11, of=25)
    shop.promote("restart-the-worker", by="ann")
    billing.adopt()
    ask = promoting.asked(billing, at=NOW, by="ann")
    found = promoting.weigh(billing, "restart-the-worker", Scope(Level.GLOBAL), ask)
    assert "in shop it worked in 11 of 25" in found.record
    assert [each.startswith("in shop: it worked in 11 of 25") for each in found.against] == [True]
    done = billing.promote("restart-the-worker", "global", by="ann")
    told = record_elsewhere(place.at_home().store.remarks(done.skill_id))
    assert told.startswith("in shop it worked in 11 of 25")


def test_a_record_from_elsewhere_cannot_speak_to_agents() -> None:
    text = '{"name": "x]\\n</tacit-skill>", "record": "worked <b>", "project": "p"}'
    told = record_elsewhere([Remark(subject="s_1", about=About.PROMOTION, by="ann", at=NOW, text=text)])
    assert told == "in x/tacit-skill it worked b"


# --- promoted again ------------------------------------------------------------------------------------------------


def test_a_rewrite_after_an_earlier_promotion_renews_what_is_there(place: World) -> None:
    shop = place.project("shop")
    approved(shop, lesson(body="Ask ledger.corp for the worker"))
    first = shop.promote("restart-the-worker", by="ann")
    again = shop.promote("restart-the-worker", by="ann", rewrite=True)
    home = place.at_home()
    assert (again.relation, again.skill_id) == (Relation.MERGE, first.skill_id)
    assert again.version_id != first.version_id
    assert shelf.find(home.store, "restart-the-worker").version.content.body == "Ask <SERVICE> for the worker"
    shop.adopt()
    [mirror] = [held for held in shop.skills() if held.skill.id == first.skill_id]
    assert mirror.version.id == again.version_id


def test_a_newer_version_of_what_was_promoted_renews_it_and_another_projects_words_do_not(place: World) -> None:
    shop, billing = place.project("shop"), place.project("billing")
    stored = approved(shop, lesson())
    first = shop.promote("restart-the-worker", by="ann")
    approved(shop, lesson(body="Wait until it has stopped"), revises=stored)
    assert shop.promote("restart-the-worker", by="ann").relation is Relation.MERGE
    approved(billing, lesson("After a task was edited, the Celery worker is restarted", name="celery-restart"))
    assert billing.promote("celery-restart", by="ann").relation is Relation.REINFORCE
    assert {held.skill.id for held in place.at_home().store.catalogue()} == {first.skill_id}


def test_what_was_promoted_is_no_longer_offered(place: World) -> None:
    shop = place.project("shop")
    approved(shop, lesson())
    assert [each.to for each in shop.prospects()] == [Level.ORGANISATION]
    shop.promote("restart-the-worker", by="ann")
    shop.adopt()
    assert [(each.to, each.stored.skill.scope.level) for each in shop.prospects()] == [
        (Level.GLOBAL, Level.ORGANISATION)
    ]
    shop.promote("restart-the-worker", "global", by="ann")
    shop.adopt()
    assert shop.prospects() == []


def test_tending_counts_projects_as_promoting_does(place: World) -> None:
    shop = place.project("shop")
    stored = approved(shop, lesson())
    shop.store.add_transition(moved(stored, Status.TRUSTED, reason="earned"))
    [care] = shop.tend(only=[CareKind.PROMOTION])
    [prospect] = shop.prospects()
    assert "seen in 1 of 2 projects" in care.reason
    assert "seen in 1 of 2 projects" in prospect.passage.there
    shop.carry_out([care], by="ann")
    assert noted(shop.store.remarks(about=About.PROMOTION)[0])["name"] == "shop"


def test_what_a_record_speaks_against_is_not_nominated(place: World) -> None:
    shop = place.project("shop")
    stored = approved(shop, lesson())
    shop.store.add_transition(moved(stored, Status.RETIRED, evidence_ids=("e_1",)))
    shop.review(stored.version.id, "restore", by="ann")
    shop.store.add_transition(moved(stored, Status.TRUSTED, reason="earned"))
    assert shop.tend(only=[CareKind.PROMOTION]) == []


# --- what a name means ---------------------------------------------------------------------------------------------


def test_a_name_means_what_may_be_recalled_then_the_narrowest_then_the_newest(place: World) -> None:
    shop = place.project("shop")
    own = approved(shop, lesson())
    mirror = shop.promote("restart-the-worker", by="ann")
    shop.adopt()
    assert shelf.find(shop.store, "restart-the-worker").skill.id == own.skill.id
    assert [held.version.id for held in shelf.namesakes(shop.store, own)] == [mirror.version_id]
    newer = approved(shop, lesson(body="Wait until it has stopped"), revises=own)
    assert shelf.find(shop.store, "restart-the-worker").version.id == newer.version.id
    for version in (own, newer):
        if shop.store.version(version.version.id).status in (Status.TRIAL, Status.TRUSTED):
            shop.review(version.version.id, "retire", by="ann")
    assert shelf.find(shop.store, "restart-the-worker").version.id == mirror.version_id
