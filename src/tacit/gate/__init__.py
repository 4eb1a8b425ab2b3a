"""Gate: how a candidate becomes a version, and how a version becomes and stays approved.

Read in this order:

- `admission` compares a candidate with the store, has it judged, and stores the result; `judgement` decides.
  `formation_policy` says what may become a skill and what the open policy accepts, `duplicates` how similar skills are and
  how they are merged, `origins` whose words an edit contains.
- `reviews` holds what a person decides and rechecks approvals; `review_rules` says what an approval is bound to, and
  `quarantine` leaves quarantined text out wherever an agent reads.
- `content_checks` examines one content for both; the single checks are in `checks`.
- `review_sources` says what a version rests on, and where its text from outside came from.
- `findings` has the codes and their English.
"""
