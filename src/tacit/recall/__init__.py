"""Recall: a query → a selection of skills within a token budget, or an abstention with its reason.

    words, meaning, situation, error, norms, passages     candidate sources      `retrieval`
      → scope, kind, person, tools, allowance, …          filters                `filters`, `selection`
      → signals and `relevance` of each candidate         weighing               `weighing`, `signals`, `passages`
      → `relevance` decides WHETHER it is given           threshold              `signals.is_relevant`
      → `match_score` decides the ORDER                   sorting                `signals.sort_key`, `ranking`
      → composites in place of their parts                                       `selection.replace_parts`
      → number, token budget, share of each kind          budget                 `ranking.take_within_budget`
      → norms that hold whatever the task is              standing               `selection`

Two things overrule the signals: a skill for exactly the error at hand comes first, and a plan (`plan`) puts the skills that a
task calls for before all others, in order, or withholds all skills with cues where a needed tool is missing.

| signal | unit | affects |
| --- | --- | --- |
| `relevance` | probability, 0 to 1 | whether; its parts are term overlap, words, meaning, error, cues and like tasks |
| `words`, `names` | nats | order; whether, for long requests (`CLEAR_MATCH_NATS`) |
| `example`, `state` | share, 0 to 1 | order |
| `meaning` | cosine, less for long queries | order |
| `reliability` | lower bound, 0 to 1 | order |
| `prominence` | importance × age × confirmations | order |
| `scope` | 1 less 0.25 for each level between | order |
| `signature` | similarity of errors, 0 to 1 | whether, as part of `relevance`; at 1 it comes first |
| `cues` | strength, 0 to 1 | whether, as part of `relevance`; order through the plan |
| `esteem` | factor for a document | neither, but the order of documents among themselves |

`retrieval` answers the API with domain types. `hook_recall` answers hooks from a small index: fewer filters, no plan,
and lessons and the like by their occasion (`occasion_nats`). Both decide by `ranking`. `publishing` writes what both read.
The English of every reason is in `reasons`.
"""
