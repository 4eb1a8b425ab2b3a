"""Simulated skills: what do the rules of reliability and standing do, against simple rules?

    PYTHONPATH=src python bench/statistics.py [--skills 4000] [--seed 2026] [--out bench/results/statistics.json]
    PYTHONPATH=src python bench/statistics.py arms [--rounds 2000] [--seed 2026] [--out bench/results/arms_statistics.json]

Every skill works with a known chance. Its uses become evidence, the evidence votes, and after every vote its standing is looked at,
by the code that looks after real libraries. See `_simulations.py` for the figures and `docs/lab.md` for how the lines
were chosen (with other seeds). With `arms`: simulated runs of arms, see `_arms_simulation.py`.
"""

from __future__ import annotations

import sys

if __name__ == "__main__":
    if sys.argv[1:2] == ["arms"]:
        from _arms_simulation import main as main_of_arms

        sys.exit(main_of_arms(sys.argv[2:]))
    from _simulations import main

    sys.exit(main())

# The other scripts of this folder find this file where they mean the standard library's `statistics`: they get that one.
import importlib.util
import sysconfig
from pathlib import Path

_standard = importlib.util.spec_from_file_location(__name__, Path(sysconfig.get_path("stdlib")) / "statistics.py")
if _standard is not None and _standard.loader is not None:
    sys.modules[__name__] = importlib.util.module_from_spec(_standard)
    _standard.loader.exec_module(sys.modules[__name__])
