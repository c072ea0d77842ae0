"""Which clusters there are, and within which strata they are resampled.

A stratum is a topic: benchmarks choose how many videos a topic has, and a mean over topics must
not lose one. Topics that share a cluster are one stratum; so are all topics of one cluster, whose
spread could not be known otherwise (if one such topic is left alone it joins the smallest stratum).

    row       a (topic, cluster) pair, the unit that scores are summed to; sorted by both ids
    cluster   the unit that is drawn; its rows share its weight
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise

import numpy as np
import numpy.typing as npt

Ints = npt.NDArray[np.int64]
Floats = npt.NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class Design:
    """Clusters, topics and strata of a set of scores, whatever the order of its rows."""

    clusters: tuple[str, ...]
    """Sorted."""
    topics: tuple[str, ...]
    """Sorted."""
    row_topic: Ints
    """Number of each row's topic, ascending, shape (n_rows,)."""
    row_cluster: Ints
    """Number of each row's cluster, shape (n_rows,)."""
    stratum: Ints
    """Number of each cluster's stratum, shape (n_clusters,)."""

    @cached_property
    def row_of(self) -> dict[tuple[str, str], int]:
        """(topic, cluster) → row."""
        pairs = zip(self.row_topic.tolist(), self.row_cluster.tolist(), strict=True)
        return {
            (self.topics[topic], self.clusters[cluster]): row
            for row, (topic, cluster) in enumerate(pairs)
        }

    @cached_property
    def stratum_size(self) -> Ints:
        """Clusters of each cluster's stratum, shape (n_clusters,)."""
        return np.bincount(self.stratum)[self.stratum]

    @cached_property
    def scale(self) -> Floats:
        """What a draw of each row's cluster weighs, n / (n − 1) of its stratum, shape (n_rows,).

        n − 1 clusters are drawn from a stratum of n, so that the spread of replicates has no bias.
        A lone cluster is never drawn, and nothing is estimated from it.
        """
        size = self.stratum_size[self.row_cluster].astype(np.float64)
        return np.where(size > 1, size / np.maximum(size - 1, 1), 1.0)

    @cached_property
    def rows_of_topic(self) -> tuple[slice, ...]:
        """The rows of each topic."""
        edges = np.searchsorted(self.row_topic, np.arange(len(self.topics) + 1))
        return tuple(slice(*edge) for edge in pairwise(edges.tolist()))

    @cached_property
    def is_whole(self) -> tuple[bool, ...]:
        """Whether each topic is a stratum of its own: then it weighs the same in any replicate."""
        size = self.stratum_size[self.row_cluster]
        return tuple(len(size[rows]) == int(size[rows][0]) for rows in self.rows_of_topic)


def make_design(pairs: Iterable[tuple[str, str]]) -> Design:
    """Make the design of scores.

    Args:
        pairs: (topic, cluster) of each of them, in any order, repeated or not.
    """
    known = sorted(set(pairs))
    topics = sorted({topic for topic, _ in known})
    clusters = sorted({cluster for _, cluster in known})
    topic_number = {topic: number for number, topic in enumerate(topics)}
    cluster_number = {cluster: number for number, cluster in enumerate(clusters)}
    row_topic = np.array([topic_number[topic] for topic, _ in known], dtype=np.int64)
    row_cluster = np.array([cluster_number[cluster] for _, cluster in known], dtype=np.int64)
    stratum = _strata(row_topic, row_cluster, len(clusters))
    return Design(tuple(clusters), tuple(topics), row_topic, row_cluster, stratum)


def _strata(row_topic: Ints, row_cluster: Ints, n_clusters: int) -> Ints:
    """Return each cluster's stratum: topics, joined where they must be."""
    joined: dict[int, int] = {}

    def root(topic: int) -> int:
        while joined.get(topic, topic) != topic:
            topic = joined[topic]
        return topic

    def join(one: int, other: int) -> None:
        low, high = sorted((root(one), root(other)))
        joined[high] = low

    first: dict[int, int] = {}
    for topic, cluster in zip(row_topic.tolist(), row_cluster.tolist(), strict=True):
        join(topic, first.setdefault(cluster, topic))
    members: dict[int, set[int]] = defaultdict(set)
    for topic, cluster in zip(row_topic.tolist(), row_cluster.tolist(), strict=True):
        members[root(topic)].add(cluster)
    alone = sorted(topic for topic, found in members.items() if len(found) == 1)
    if len(alone) == 1 and len(members) > 1:
        others = sorted((len(found), topic) for topic, found in members.items() if len(found) > 1)
        alone.append(others[0][1])
    for topic in alone[1:]:
        join(alone[0], topic)
    roots = [root(first[cluster]) for cluster in range(n_clusters)]
    numbers = {found: number for number, found in enumerate(sorted(set(roots)))}
    return np.array([numbers[found] for found in roots], dtype=np.int64)
