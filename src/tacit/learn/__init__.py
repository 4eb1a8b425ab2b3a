"""Learning: makes candidates of attempts, passes them to the gate, and withdraws lessons and rules that no longer hold.

`pipeline` runs a pass: `single_attempt` (one attempt alone), `like_runs` and `consensus` (shell and file work done several
times), `fixes`, `project_facts` and `person_rules` (counted over sessions), `mining` (plain tool calls), `reading` (a model).
"""
