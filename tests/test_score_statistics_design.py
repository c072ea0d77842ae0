"""Strata: topics, joined where the spread of one could not be known."""

import pytest

from score.statistics.design import make_design


def strata(*pairs):
    """The clusters of each stratum."""
    design = make_design(pairs)
    found = {}
    for cluster, stratum in zip(design.clusters, design.stratum.tolist(), strict=True):
        found.setdefault(stratum, set()).add(cluster)
    return sorted(map(sorted, found.values()))


def test_a_topic_is_a_stratum():
    pairs = [("b", "b1"), ("a", "a1"), ("a", "a2"), ("b", "b2"), ("b", "b3")]
    assert strata(*pairs) == [["a1", "a2"], ["b1", "b2", "b3"]]


def test_topics_of_one_cluster_are_one_stratum():
    pairs = [("a", "a1"), ("b", "b1"), ("c", "c1"), ("d", "d1"), ("d", "d2")]
    assert strata(*pairs) == [["a1", "b1", "c1"], ["d1", "d2"]]


def test_a_lone_topic_of_one_cluster_joins_the_smallest_stratum():
    pairs = [("a", "a1"), ("b", "b1"), ("b", "b2"), ("c", "c1"), ("c", "c2"), ("c", "c3")]
    assert strata(*pairs) == [["a1", "b1", "b2"], ["c1", "c2", "c3"]]


def test_topics_that_share_a_cluster_are_one_stratum():
    pairs = [("a", "1"), ("a", "2"), ("b", "2"), ("b", "3"), ("c", "4"), ("c", "5")]
    assert strata(*pairs) == [["1", "2", "3"], ["4", "5"]]


def test_the_order_and_number_of_rows_do_not_matter():
    pairs = [("a", "a1"), ("a", "a2"), ("b", "b1"), ("b", "b2")]
    one, other = make_design(pairs), make_design([*reversed(pairs), *pairs])
    assert (one.clusters, one.topics) == (other.clusters, other.topics)
    assert one.stratum.tolist() == other.stratum.tolist()


@pytest.mark.parametrize("pairs", [[], [("a", "a1")]])
def test_too_little_for_any_spread_is_still_a_design(pairs):
    assert len(make_design(pairs).clusters) == len(pairs)
