"""Made-up secrets as they stand in agents' sessions: files, commands, outputs, code, and what people type.

`bench/data/secret_situations.json` holds texts in which a secret stands between ⟦ and ⟧ and `{A20}` stands for 20 random
characters of the alphabet A; nothing in it is a secret. `dev` was written first and used to change the rules; `held` was written
by somebody who had seen neither rules nor other texts, measured once, and then used to mend them.
"""

from __future__ import annotations

import base64
import json
import random
import re
from collections.abc import Iterator
from pathlib import Path

from bench._secret_formats import ALPHABETS, HOLE, UUID, Case

SEED = 90210
DRAWS = 4
FILE = Path(__file__).parent / "data" / "secret_situations.json"
_MARKED = re.compile("⟦(.*?)⟧", re.DOTALL)
_WORDS = ("Sommer", "harbor", "Kestrel", "violet", "Anker", "tulip", "Boston", "magnet", "Orchid", "canyon")


def _password(rng: random.Random) -> str:
    word = rng.choice(_WORDS)
    return rng.choice(
        (
            f"{word}{rng.randint(100, 99999)}{rng.choice('!#*+_-')}",
            f"{word}-{rng.choice(_WORDS)}-{rng.randint(10, 99)}",
            "".join(rng.choices(ALPHABETS["A"], k=rng.randint(10, 20))) + "4k",
        )
    )


def situations() -> Iterator[Case]:
    """Yield every situation with DRAWS drawn secrets."""
    rng = random.Random(SEED)
    drawn = {
        "{P}": lambda: _password(rng),
        "{Q}": lambda: "".join(rng.choices(ALPHABETS["A"], k=12)) + "7",
        "{E}": lambda: base64.b64encode(f"bot:{_password(rng)}".encode()).decode(),
    }
    for half, texts in json.loads(FILE.read_text("utf-8")).items():
        for kind, pattern in texts.items():
            for _ in range(DRAWS):
                text = pattern.replace("{G}", UUID)
                for hole, draw in drawn.items():
                    text = re.sub(re.escape(hole), lambda _, draw=draw: draw(), text)  # type: ignore[misc]
                text = HOLE.sub(lambda m: "".join(rng.choices(ALPHABETS[m[1]], k=int(m[2]))), text)
                yield Case(kind, "situations", half, _MARKED.sub(r"\1", text), tuple(_MARKED.findall(text)))
