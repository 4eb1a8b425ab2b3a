"""Measuring recall: rankings by hand-computed values, questions read or refused, a library asked without a trace."""

from __future__ import annotations

import math
from collections.abc import Iterator
from pathlib import Path

import pytest

import tacit
from tacit.api import Tacit
from tacit.config.settings import Config, RecallSettings
from tacit.domain.errors import Mistake
from tacit.domain.skill import Kind
from tacit.features.evaluate.recall_quality import (
    GIVEN_FIRST,
    STATE_FIELDS,
    LabelledQuery,
    hit,
    measure,
    ndcg_at,
    rank_of_first,
    read_questions,
    recall_at,
    reciprocal_rank,
)
from tacit.recall.weighing import read_situation
from tests.raising import raises

LIBRARY = {
    "rotate-database-password": "Rotate the password of the invoice database.",
    "purge-image-cache": "Purge the cache of the thumbnail images.",
    "export-monthly-report": "Export the monthly report as a spreadsheet.",
    "renew-certificate": "Renew the certificate of the web server.",
}


@pytest.fixture
def memory(tmp_path: Path) -> Iterator[Tacit]:
    opened = tacit.open(tmp_path / "tacit.db", config=Config(recall=RecallSettings(embedder="none")))
    for name, description in LIBRARY.items():
        content = tacit.SkillContent(kind=Kind.PROCEDURE, name=name, description=description, body=f"Do it: {name}.")
        opened.propose(content, by="ann", origin=tacit.Origin.USER)
    for stored in opened.reviews.waiting():
        opened.review(stored.version.id, "approve", by="ann", content_hash=stored.version.hash)
    yield opened
    opened.close()


# --- one ranking ----------------------------------------------------------------------------------------------------


def test_the_first_right_one_gives_rank_hit_and_reciprocal_rank():
    ranked = ["a", "b", "c"]
    assert rank_of_first(ranked, {"b": 1.0, "c": 1.0}) == 2
    assert (hit(ranked, {"a": 1.0}), hit(ranked, {"b": 1.0}), hit([], {"b": 1.0})) == (1.0, 0.0, 0.0)
    assert reciprocal_rank(ranked, {"c": 1.0}) == pytest.approx(1 / 3)
    assert reciprocal_rank(ranked, {"z": 1.0}) == 0.0


def test_a_grade_of_nought_is_not_right():
    assert rank_of_first(["a", "b"], {"a": 0.0, "b": 1.0}) == 2
    assert recall_at(["a"], {"a": 0.0, "b": 1.0}) == 0.0


def test_recall_counts_the_right_ones_among_the_first_k():
    ranked = ["x", "a", "y", "b", "z", "c"]
    assert recall_at(ranked, {"a": 1.0, "b": 1.0, "c": 1.0}, k=5) == pytest.approx(2 / 3)
    assert recall_at(ranked, {"c": 1.0}, k=5) == 0.0


def test_ndcg_by_hand():
    # Grades 2 and 1 in places 3 and 1: (1/log2(2) + 2/log2(4)) / (2/log2(2) + 1/log2(3)).
    expected = (1 + 2 / 2) / (2 + 1 / math.log2(3))
    assert ndcg_at(["one", "none", "two"], {"two": 2.0, "one": 1.0}) == pytest.approx(expected)
    assert ndcg_at(["two", "one"], {"two": 2.0, "one": 1.0}) == pytest.approx(1.0)
    assert ndcg_at(["none"] * 10 + ["two"], {"two": 2.0}) == 0.0
    assert ndcg_at([], {}) == 0.0


# --- reading --------------------------------------------------------------------------------------------------------


def test_labels_come_as_a_name_a_list_or_grades():
    text = (
        '{"query": "a", "relevant": "x"}\n\n'
        '{"query": "b", "relevant": ["x", "y"], "tools": [], "kinds": ["lesson"], "state": {"error": "E1"}}\n'
        '{"query": "c", "relevant": {"x": 2, "y": 0}}\n{"query": "d", "relevant": []}'
    )
    one, several, graded, nothing = read_questions(text)
    assert (one.relevant, one.tools, one.kinds, one.line) == ({"x": 1.0}, None, None, 1)
    assert (several.relevant, several.tools, several.kinds) == ({"x": 1.0, "y": 1.0}, (), (Kind.LESSON,))
    assert (several.state, several.line) == ({"error": "E1"}, 3)
    assert graded.relevant == {"x": 2.0}
    assert nothing.relevant == {}


def test_line_separators_within_a_question_do_not_part_it():
    assert read_questions('{"query": "a\u2028b\x85c", "relevant": []}')[0].text == "a\u2028b\x85c"


def test_a_table_is_read_with_its_labels_parted():
    first, second = read_questions('\ufeffquery,relevant,tools\n"a, b",x; y ,\nc,,cd;ls\n', table=True)
    assert (first.text, first.relevant, first.tools) == ("a, b", {"x": 1.0, "y": 1.0}, None)
    assert (second.relevant, second.tools, second.line) == ({}, ("cd", "ls"), 3)


@pytest.mark.parametrize(
    ("line", "result"),
    [
        ("{", "no JSON"),
        ("[1]", "not a JSON object"),
        ('{"relevant": []}', "`query` is missing"),
        ('{"query": " ", "relevant": []}', "`query` is missing or empty"),
        ('{"query": "a"}', "`relevant` is missing"),
        ('{"query": "a", "relevant": 3}', "neither a list of names"),
        ('{"query": "a", "relevant": [3]}', "not a name"),
        ('{"query": "a", "relevant": {"x": -1}}', "not a number from 0"),
        ('{"query": "a", "relevant": {"x": true}}', "not a number from 0"),
        ('{"query": "a", "relevant": {"x": NaN}}', "not a number from 0"),
        ('{"query": "a", "relevant": [], "tools": "cd"}', "`tools` is not a list"),
        ('{"query": "a", "relevant": [], "state": [1]}', "`state` is not a JSON object"),
        ('{"query": "a", "relevant": [], "kinds": ["skill"]}', "'skill' is not a kind"),
        ('{"query": "a", "relevent": []}', "unknown field 'relevent'"),
        ('{"query": "a", "relevant": [], "state": {"erorr": "E1"}}', "unknown field 'erorr'; there are command, "),
        ('{"query": "a", "relevant": {"x": 1' + "0" * 400 + "}}", "not a number from 0"),
        ('{"query": "a", "relevant": ' + "[" * 100_000 + "]" * 100_000 + "}", "nested too deeply"),
    ],
)
def test_a_bad_line_is_reported_with_file_line_and_reason(line, result):
    with pytest.raises(Mistake) as refused:
        read_questions('{"query": "fine", "relevant": []}\n' + line, source="mine.jsonl")
    assert refused.value.message.startswith("mine.jsonl: line 2: ")
    assert result in refused.value.message
    assert '"relevant"' in refused.value.hint


@pytest.mark.parametrize("key", sorted(STATE_FIELDS))
def test_every_known_field_of_a_state_is_one_that_recall_reads(key):
    result = {"x": True} if key in ("environment", "readings", "holds") else "x"
    assert read_situation({key: result}) != read_situation({})


@pytest.mark.parametrize(
    ("text", "result", "hint"),
    [
        ("query,relevant\nfine,x\nadd, drop,x,y\n", "line 3: 4 columns", "a line reads"),
        ("query,relevant\nfine,x\njust this\n", "line 3: the column `relevant` is missing", "a line reads"),
        ('query,relevant\nfine,x\n"open,x\nmore,y\n', "line 3 is not", "close each quote"),
        ("query,relevant\nfine,x\n" + "a" * 200_000 + ",x\n", "line 3 is not", "cut long texts"),
        ("query,relevant,query\na,x,b\n", "line 1 has the column query twice", "leave one"),
        ("query;relevant\na;x\n", "line 1 names no column query and relevant", "commas, not semicolons"),
        ("query\trelevant\na\tx\n", "line 1 names no column", "commas, not tabs"),
        ("", "line 1 names no column", "query,relevant"),
        ("query,relevant\n", "has no questions", '"what is asked","name of a skill'),
    ],
)
def test_a_bad_table_is_reported_with_file_line_and_next_step(text, result, hint):
    with pytest.raises(Mistake) as refused:
        read_questions(text, source="mine.csv", table=True)
    assert refused.value.message.startswith("mine.csv")
    assert result in refused.value.message
    assert hint in refused.value.hint
    assert "{" not in refused.value.hint


def test_a_row_over_several_lines_is_reported_by_its_first():
    (one, two) = read_questions('query,relevant,tools\n"a\nb",x\n\nc,y\n', table=True)
    assert (one.line, one.text, two.line) == (2, "a\nb", 5)


def test_all_bad_lines_are_counted_and_the_first_few_reported():
    with raises(Mistake, "bad_questions"):
        read_questions("{\n" * 7)


@pytest.mark.parametrize("text", ["", "\n \n"])
def test_no_questions_are_a_mistake(text):
    with raises(Mistake, "no_questions"):
        read_questions(text)


def test_a_table_without_its_columns_is_a_mistake():
    with raises(Mistake, "missing_column"):
        read_questions("query,answer\na,b\n", table=True)


# --- asking ---------------------------------------------------------------------------------------------------------


def test_what_is_found_and_what_is_not_are_reported_apart(memory):
    questions = [
        LabelledQuery(text="rotate the password of the database", relevant={"rotate-database-password": 1.0}),
        LabelledQuery(text="purge the thumbnail image cache", relevant={"purge-image-cache": 1.0}),
        LabelledQuery(text="water the plants on the balcony"),
    ]
    report = measure(memory, questions)
    assert report.figures["hit@1"].value == report.figures["NDCG@10"].value == 1.0
    assert report.figures["MRR"].n == 2
    assert report.presence_auroc is not None
    assert report.presence_auroc.value == 1.0
    assert (report.counts.correct, report.counts.correctly_empty, report.counts.false_positive) == (2, 1, 0)
    assert report.worst == []


def test_a_wrong_label_shows_as_a_failure_with_what_came_instead(memory):
    right = LabelledQuery(text="renew the certificate of the web server", relevant={"renew-certificate": 1.0}, line=1)
    wrong = LabelledQuery(text="renew the certificate of the web server", relevant={"purge-image-cache": 1.0}, line=2)
    report = measure(memory, [right, wrong])
    assert [answer.question.line for answer in report.worst] == [2]
    assert report.names[report.worst[0].ranked[0]] == "renew-certificate"
    assert report.figures["hit@1"].value == 0.5
    assert report.presence_auroc is None  # there was nothing to be silent about


def test_a_norm_that_stands_is_found_where_it_is_wanted_and_is_no_answer_elsewhere(memory):
    norm = tacit.SkillContent(kind=Kind.NORM, name="sign-commits", description="Sign all commits.", body="Always sign.")
    memory.propose(norm, by="ann", origin=tacit.Origin.USER)
    (stored,) = memory.reviews.waiting()
    memory.review(stored.version.id, "approve", by="ann", content_hash=stored.version.hash)
    questions = [
        LabelledQuery(text="water the plants on the balcony", relevant={"sign-commits": 1.0}),
        LabelledQuery(text="water the plants on the balcony"),
        LabelledQuery(text="renew the certificate of the web server", relevant={"sign-commits": 1.0}),
    ]
    report = measure(memory, questions, leave_out=True)
    wanted, silent, behind = report.answers
    assert (wanted.rank, wanted.given, wanted.is_right, wanted.given_without) == (1, 1, True, 0)
    assert (silent.given, silent.is_right) == (0, True)
    assert behind.rank == behind.given > 1


def test_left_out_skills_are_gone_for_that_question_only(memory):
    text = "export the monthly report as a spreadsheet"
    report = measure(memory, [LabelledQuery(text=text, relevant={"export-monthly-report": 1.0})] * 2, leave_out=True)
    for answer in report.answers:
        assert answer.rank == 1
        assert answer.confidence_without is not None
        assert answer.confidence_without < answer.confidence
    assert report.counts.correct == 2
    assert report.counts.correctly_empty + report.counts.false_positive == 2
    assert report.presence_auroc is not None
    assert report.presence_auroc.value == 1.0


def test_silence_is_a_miss_in_what_was_given_and_none_in_the_ranking(memory):
    little = "the server of zebra parades, in a distant harbour town with many other lamps, drums, flags and horses"
    asked = ("renew the certificate of the web server", little)
    report = measure(memory, [LabelledQuery(text=text, relevant={"renew-certificate": 1.0}) for text in asked])
    assert [answer.given for answer in report.answers] == [1, 0]
    assert [answer.rank for answer in report.answers] == [1, 1]
    assert (report.figures[GIVEN_FIRST].value, report.figures["hit@1"].value) == (0.5, 1.0)
    assert report.counts.missed == 1


@pytest.mark.parametrize("label", ["renew-certificate", "purge-image-cache"])
def test_few_questions_that_all_end_alike_are_no_certainty(memory, label):
    text = "renew the certificate of the web server"
    report = measure(memory, [LabelledQuery(text=text, relevant={label: 1.0})], leave_out=True)
    assert report.presence_auroc is not None
    for figure in (*report.figures.values(), report.presence_auroc):
        assert figure.low <= figure.value <= figure.high
        assert figure.high - figure.low > 0.5


def test_the_interval_of_a_share_is_wilsons(memory):
    text = "renew the certificate of the web server"
    wanted = ["renew-certificate"] * 3 + ["purge-image-cache"]
    report = measure(memory, [LabelledQuery(text=text, relevant={label: 1.0}) for label in wanted])
    for name in (GIVEN_FIRST, "hit@1"):
        figure = report.figures[name]
        assert (figure.value, figure.n) == (0.75, 4)
        assert (figure.low, figure.high) == pytest.approx((0.3006, 0.9544), abs=1e-4)


def test_an_answer_without_its_right_skill_is_reported_among_what_went_wrong(memory):
    content = tacit.SkillContent(
        kind=Kind.PROCEDURE,
        name="renew-mail-certificate",
        description="Renew the certificate of the mail server.",
        body="Do it: mail.",
    )
    memory.propose(content, by="ann", origin=tacit.Origin.USER)
    (stored,) = memory.reviews.waiting()
    memory.review(stored.version.id, "approve", by="ann", content_hash=stored.version.hash)
    questions = [
        LabelledQuery(text="renew the certificate of the web server", relevant={"renew-certificate": 1.0}, line=1),
        LabelledQuery(text="purge the thumbnail image cache", relevant={"purge-image-cache": 1.0}, line=2),
    ]
    report = measure(memory, questions, leave_out=True)
    assert all(answer.is_right for answer in report.answers)
    assert report.counts.false_positive == 1
    (wrong,) = report.worst
    assert wrong.question.line == 1
    assert [report.names[skill_id] for skill_id in wrong.came_without] == ["renew-mail-certificate"]
    assert measure(memory, questions).worst == []


def test_labels_may_be_ids_of_skills_and_versions(memory):
    stored = next(each for each in memory.skills() if each.version.name == "renew-certificate")
    questions = [
        LabelledQuery(text="renew certificate", relevant={label: 1.0})
        for label in ("renew-certificate", stored.skill.id, stored.version.id)
    ]
    assert [dict(answer.grades) for answer in measure(memory, questions).answers] == [{stored.skill.id: 1.0}] * 3


def test_unknown_labels_are_reported_with_the_nearest_names(memory):
    question = LabelledQuery(text="renew", relevant={"renew-certificates": 1.0, "qqq": 1.0}, line=7)
    with raises(Mistake, "unknown_labels") as refused:
        measure(memory, [question])
    assert "'renew-certificates' (line 7)" in refused.value.message
    assert "nearest renew-certificate;" in refused.value.message
    assert "'qqq' (line 7)" in refused.value.message
    assert "--unknown-absent" in refused.value.hint


def test_unknown_labels_may_stand_for_skills_that_are_not_here(memory):
    report = measure(
        memory, [LabelledQuery(text="water the plants", relevant={"water-plants": 1.0})], unknown_absent=True
    )
    assert (report.counts.correctly_empty, report.figures) == (1, {})


def test_a_retired_skill_is_reported_as_retired(memory):
    stored = next(each for each in memory.skills() if each.version.name == "renew-certificate")
    memory.review(stored.version.id, "retire", by="ann")
    with raises(Mistake, "unknown_labels") as refused:
        measure(memory, [LabelledQuery(text="renew", relevant={"renew-certificate": 1.0})])
    assert "'renew-certificate'" in refused.value.message
    assert refused.value.message.endswith(" retired")


def test_measuring_leaves_no_trace(memory):
    before, story = memory.archive.stats(), memory.archive.history()
    measure(memory, [LabelledQuery(text="renew the certificate", relevant={"renew-certificate": 1.0})], leave_out=True)
    assert memory.archive.stats() == before
    assert memory.archive.history() == story


def test_progress_is_reported_question_by_question(memory):
    result: list[tuple[int, int]] = []
    measure(
        memory,
        [LabelledQuery(text="a"), LabelledQuery(text="b")],
        progress=lambda done, total: result.append((done, total)),
    )
    assert result == [(1, 2), (2, 2)]
