"""No zero vector and no NaN ever comes out of an embedder."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as st_numpy

from recollect.errors import EmbedderFailedError
from recollect.providers.embedders.vectors import blank_vector, unit_rows


@given(
    st_numpy.arrays(
        np.float32,
        st.tuples(st.integers(1, 5), st.integers(1, 40)),
        elements=st.floats(width=32, allow_nan=False, allow_infinity=False),
    )
)
def test_every_finite_row_becomes_a_unit_vector(raw: np.ndarray) -> None:
    assert np.allclose(np.linalg.norm(unit_rows(raw, name="x"), axis=1), 1, atol=1e-5)


def test_zero_rows_become_the_blank_vector_and_others_keep_their_direction() -> None:
    rows = unit_rows(np.array([[0, 0, 0, 0], [0, 3, 0, 4]], dtype=np.float32), name="x")
    assert rows.tolist() == [blank_vector(4).tolist(), pytest.approx([0, 0.6, 0, 0.8])]


@pytest.mark.parametrize("bad", [np.nan, np.inf, -np.inf])
def test_nan_and_infinity_raise(bad: float) -> None:
    with pytest.raises(EmbedderFailedError, match=r"'x'.*NaN or infinity"):
        unit_rows(np.array([[1.0, 2.0], [bad, 1.0]]), name="x")
