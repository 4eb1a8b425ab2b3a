"""A report → one HTML file that needs nothing else: style and plots are in it, and it runs no script.

Everything that comes from suites and agents is escaped, and characters in it are left out that nobody sees or that turn the
direction of a text. The page follows the reader's light or dark preference.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from html import escape

from tacit.features.evaluate.comparing import METRICS, ArmFigures, Change
from tacit.features.evaluate.markdown import chance
from tacit.features.evaluate.plots import forest, learning_curve
from tacit.features.evaluate.report import (
    NOTHING,
    Report,
    difference,
    figure,
    footnotes,
    least,
    part,
    share,
    standing,
    stands,
    trivial,
)
from tacit.features.evaluate.words import Apart
from tacit.text.fence import one_line

_STYLE = """
:root{color-scheme:light dark;--ink:#1c2024;--soft:#60646c;--line:#e0e1e6;--paper:#fff;--card:#f7f7f9;
--good:#18794e;--bad:#c62a2f;--calm:#8b8d98;--a:#0d74ce;--b:#ab4aba}
@media(prefers-color-scheme:dark){:root{--ink:#edeef0;--soft:#b0b4ba;--line:#363a3f;--paper:#111113;--card:#18191b;
--good:#3dd68c;--bad:#ff9592;--calm:#777b84;--a:#70b8ff;--b:#d19dff}}
*{box-sizing:border-box}
body{margin:0;background:var(--paper);color:var(--ink);font:16px/1.55 system-ui,sans-serif}
main{max-width:980px;margin:0 auto;padding:40px 20px 80px}
h1{font-size:1.6rem;margin:0 0 .2em}
h2{font-size:1.15rem;margin:2.4em 0 .6em}
.soft{color:var(--soft)}
.verdict{background:var(--card);border-left:4px solid var(--a);padding:14px 18px;border-radius:6px;
font-size:1.08rem;margin:1.2em 0}
.wide{overflow-x:auto}
table{border-collapse:collapse;width:100%;font-size:.92rem;font-variant-numeric:tabular-nums}
th,td{text-align:left;padding:7px 12px 7px 0;border-bottom:1px solid var(--line);vertical-align:top}
th{color:var(--soft);font-weight:500}
td.n,th.n{text-align:right;white-space:nowrap}
td.better{color:var(--good)}
td.worse{color:var(--bad)}
td.not-shown{color:var(--soft);white-space:nowrap}
details{border-bottom:1px solid var(--line);padding:8px 0}
summary{cursor:pointer}
td:last-child,details td{overflow-wrap:anywhere}
td.n{overflow-wrap:normal}
svg{width:100%;height:auto;display:block;font:13px system-ui,sans-serif}
svg text{fill:var(--ink)}
.tick,.axis{text-anchor:middle}
.axis,.tick{fill:var(--soft)!important}
.name{text-anchor:end}
.grid{stroke:var(--line)}
.zero{stroke:var(--soft);stroke-width:1.5}
.level{stroke:var(--soft);stroke-dasharray:5 4}
.bar{stroke:var(--calm);stroke-width:3;stroke-linecap:round}
circle{fill:var(--calm)}
.better .bar{stroke:var(--good)}
.better circle{fill:var(--good)}
.worse .bar{stroke:var(--bad)}
.worse circle{fill:var(--bad)}
polyline{fill:none;stroke-width:2.5;stroke:var(--a)}
.line-0 circle{fill:var(--a)}
.line-0 .bar{stroke:var(--a);stroke-width:1.5}
.line-1 polyline,.line-1 .bar{stroke:var(--b)}
.line-1 circle{fill:var(--b)}
.line-1 .bar{stroke-width:1.5}
.line-2 polyline,.line-2 .bar{stroke:var(--good)}
.line-2 circle{fill:var(--good)}
.line-3 polyline,.line-3 .bar{stroke:var(--bad)}
.line-3 circle{fill:var(--bad)}
"""


def page(told: Report) -> str:
    """The whole page."""
    title = one_line(escape(f"{told.comparison.suite}: does it help?"))
    body = "\n".join(one_line(part) for part in _parts(told))
    return (
        f'<!doctype html>\n<html lang="en"><head><meta charset="utf-8"><title>{title}</title>'
        '<meta name="viewport" content="width=device-width,initial-scale=1">'
        "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; style-src 'unsafe-inline'\">"
        f"<style>{_STYLE}</style></head><body><main>\n{body}\n</main></body></html>\n"
    )


def _parts(told: Report) -> Iterator[str]:
    comparison = told.comparison
    by = f", attempted by {escape(told.agent)}" if told.agent else ""
    yield f"<h1>{escape(comparison.suite)}</h1>"
    size = f"exercises: {comparison.exercises:,}, tasks: {comparison.groups:,}, arms: {len(comparison.arms)}"
    yield f'<div class="soft">{size}{by}</div>'
    yield f'<p class="verdict">{escape(told.verdict)}</p>'
    yield f"<h2>Success, vs {escape(comparison.reference)}</h2>{forest(comparison)}"
    yield (
        '<p class="soft">Points with their 95 % interval, drawn by whole tasks. Green and red: shown after Holm’s correction '
        "over all arms. Grey: not shown, chance would be enough.</p>"
    )
    yield _success(told)
    yield from (f'<p class="soft">{escape(line)}</p>' for line in footnotes(told, comparison.metrics))
    if told.curve:
        own = comparison.arm(comparison.reference).means["success"].value
        yield f"<h2>Learning curve</h2>{learning_curve(told.curve, level=(comparison.reference, own))}"
    for metric in comparison.metrics:
        if metric != "success" and metric not in told.idle:
            yield f"<h2>{escape(METRICS[metric].label.capitalize())}</h2>{_others(told, metric)}"
    yield from _regressions(told)
    lines = "".join(f"<li>{escape(line)}</li>" for line in told.not_measured)
    yield f"<h2>What was not measured</h2><ul>{lines}</ul>"


def _success(told: Report) -> str:
    header = (
        "arm",
        "success",
        "95 %",
        "p (Holm)",
        "standing",
        "detectable",
        "by seed",
        "lost",
        "won",
        *_silences(told),
    )
    rows = []
    for figures in told.comparison.arms:
        found = figures.differences.get("success")
        cells = [_td(figures.arm), *_mean(figures, "success")]
        if found:
            seeds = " ".join(difference("success", value) for value in found.by_seed.values())
            cells += [_td(chance(found.p_holm), "n"), _td(standing(found), standing(found).replace(" ", "-"))]
            cells += [_td(least(found), "n"), _td(seeds, "n")]
            cells += [_td(str(len(figures.regressions)), "n"), _td(str(len(figures.gains)), "n")]
        else:
            cells += [_td(NOTHING, "n"), _td(stands(told, figures), "not-shown"), *[_td(NOTHING, "n")] * 4]
        tally = told.tallies[figures.arm]
        cells += [
            _td(part(count, tally.attempts), "n") for count in (tally.aided, tally.abstained)[: len(_silences(told))]
        ]
        rows.append("".join(cells))
    if told.floor:
        dashes = [_td(NOTHING, "n")] * (len(header) - 2)
        rows.append("".join([_td(trivial(told.floor)), _td(share(told.floor.success), "n"), *dashes]))
    return _table(header, rows)


def _silences(told: Report) -> tuple[str, ...]:
    return _SILENCES if told.has_silence else _SILENCES[:1]


def _others(told: Report, metric: str) -> str:
    rows = []
    for figures in told.comparison.arms:
        found = figures.differences.get(metric)
        cells = [_td(figures.arm), *_mean(figures, metric)]
        if found:
            apart = f"{difference(metric, found.value)} ({difference(metric, found.low)} to {difference(metric, found.high)})"
            cells += [
                _td(apart, "n"),
                _td(chance(found.p_holm), "n"),
                _td(standing(found), standing(found).replace(" ", "-")),
            ]
        else:
            cells += [_td(NOTHING, "n"), _td(NOTHING, "n"), _td(stands(told, figures, metric=metric), "not-shown")]
        rows.append("".join(cells))
    return _table(("arm", "mean", "95 %", f"vs {told.comparison.reference}", "p (Holm)", "standing"), rows)


def _mean(figures: ArmFigures, metric: str) -> tuple[str, str]:
    mean = figures.means.get(metric)
    if mean is None:
        return _td("–", "n"), _td("")
    return _td(figure(metric, mean.value), "n"), _td(f"{figure(metric, mean.low)} to {figure(metric, mean.high)}", "n")


def _regressions(told: Report) -> Iterator[str]:
    comparison = told.comparison
    yield "<h2>Regressions</h2>"
    yield f'<p class="soft">Exercises that {escape(comparison.reference)} solved more often than the arm; shares of seeds.</p>'
    for figures in comparison.others:
        rows = [_changed(change, told.apart(figures.arm, change.exercise)) for change in figures.regressions]
        names = (comparison.reference, figures.arm)
        header = ("exercise", "asked", *names, *(f"what {name} did" for name in names), "judged")
        table = _table(header, rows) if rows else ""
        yield f"<details><summary>{escape(figures.arm)}: {len(rows)}</summary>{table}</details>"


def _changed(change: Change, apart: Apart) -> str:
    shares = [_td(share(change.reference), "n"), _td(share(change.arm), "n")]
    words = [_td(each) for each in (apart.reference, apart.arm, change.detail)]
    return "".join([_td(change.exercise), _td(apart.asked), *shares, *words])


_SILENCES = ("aided", "abstained")
_NUMBERS = {"success", "mean", "95 %", "p (Holm)", "detectable", "by seed", "lost", "won", *_SILENCES}


def _table(header: Sequence[str], rows: Sequence[str]) -> str:
    heads = "".join(
        f'<th class="{"n" if name in _NUMBERS or name.startswith("vs ") else ""}">{escape(name)}</th>'
        for name in header
    )
    body = "".join(f"<tr>{row}</tr>" for row in rows)
    return f'<div class="wide"><table><thead><tr>{heads}</tr></thead><tbody>{body}</tbody></table></div>'


def _td(text: str, kind: str = "") -> str:
    return f'<td class="{kind}">{escape(text)}</td>' if kind else f"<td>{escape(text)}</td>"
