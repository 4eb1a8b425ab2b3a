"""Scanning: many vectors side by side, compared a few at a time, give what comparing each alone gives."""

from __future__ import annotations

import random
from array import array

import pytest

numpy = pytest.importorskip("numpy")

from tacit.store.vector_codes import direction_of, similarity  # noqa: E402
from tacit.store.vector_search import Segment  # noqa: E402
from tests.unit.store.samples import vector  # noqa: E402

DIMENSIONS = 24


@pytest.mark.parametrize("count", [1, 255, 256, 257, 700])
def test_the_first_and_every_later_comparison_give_every_cosine(count: int) -> None:
    chooser = random.Random(count)
    kept = [array("b", (chooser.randint(-127, 127) for _ in range(DIMENSIONS))).tobytes() for _ in range(count)]
    segment = Segment(numpy.arange(count), numpy.frombuffer(b"".join(kept), numpy.int8).reshape(-1, DIMENSIONS))
    room = numpy.empty((256, DIMENSIONS), numpy.float32)
    for _ in range(3):
        direction = direction_of(vector(*(chooser.gauss(0, 1) for _ in range(DIMENSIONS))))
        found = numpy.empty(count, numpy.float32)
        segment.compare(numpy.array(direction, numpy.float32), into=found, room=room)
        assert found.tolist() == pytest.approx([similarity(codes, direction) for codes in kept], abs=2e-6)
