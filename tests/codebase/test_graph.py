import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from tests.profiles import examples

from recollect.codebase.index import ReferenceGraph
from recollect.codebase.links import personalised_pagerank


def graph(*edges: tuple[int, int, float]) -> ReferenceGraph:
    return ReferenceGraph(
        sources=np.array([edge[0] for edge in edges], np.int32),
        targets=np.array([edge[1] for edge in edges], np.int32),
        weights=np.array([edge[2] for edge in edges], np.float32),
    )


def test_files_near_the_seeds_get_more_than_far_ones():
    mass = personalised_pagerank(graph((0, 1, 1), (1, 2, 1), (2, 3, 1)), np.array([1.0, 0, 0, 0]))
    assert list(np.argsort(-mass)) == [0, 1, 2, 3]


def test_what_a_file_uses_gets_more_than_what_uses_it():
    mass = personalised_pagerank(graph((0, 1, 1), (2, 0, 1)), np.array([1.0, 0, 0]))
    assert mass[1] > mass[2] > 0


def test_a_strong_edge_carries_more():
    mass = personalised_pagerank(graph((0, 1, 3), (0, 2, 1)), np.array([1.0, 0, 0]))
    assert mass[1] == pytest.approx(3 * mass[2], rel=1e-3)


def test_without_edges_the_mass_stays_at_the_seeds():
    assert list(personalised_pagerank(graph(), np.array([3.0, 1.0]))) == [0.75, 0.25]


def test_without_seeds_there_is_no_mass():
    assert not personalised_pagerank(graph((0, 1, 1)), np.zeros(2)).any()


edges = st.lists(st.tuples(st.integers(0, 9), st.integers(0, 9), st.integers(1, 100)), max_size=40)
weights = st.lists(st.integers(0, 100), min_size=9, max_size=9).map(lambda seeds: [1.0, *seeds])


@settings(deadline=None, max_examples=examples(60), suppress_health_check=[HealthCheck.too_slow])
@given(edges, weights)
def test_the_mass_is_one_whatever_the_graph(found, seeds):
    mass = personalised_pagerank(graph(*[edge for edge in found if edge[0] != edge[1]]), np.array(seeds))
    assert mass.sum() == pytest.approx(1.0)
    assert (mass >= 0).all()
