"""Clusters of heads: names by rule, stability, order, several runs."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from sklearn.cluster import KMeans
from sklearn.metrics import adjusted_rand_score, silhouette_score

from headscope.analyses.cluster_comparison import cluster_data, cluster_several, write_comparison
from headscope.analyses.cluster_names import NAMES, named, shapes
from headscope.analyses.cluster_tables import Settings, write_clusters
from headscope.analyses.clusters import cluster, matched
from headscope.analyses.head_features import ALL_FEATURES, HeadFeatures, joined, read_features
from headscope.errors import RunError, UsageError
from headscope.figures import draw
from headscope.store import ModelRecord, Run, RunRecord, RunWriter, open_run
from headscope.types import HeadId, Result

N_PARTS = 16


def centre(**shares: float) -> np.ndarray:
    """The given shares; what is left is spread as an even head spreads it over windows."""
    found = np.zeros(len(ALL_FEATURES))
    for name, share in shares.items():
        found[ALL_FEATURES.index(name)] = share
    even = np.array([1 - (i + 0.5) / 16 for i in range(16)])
    found[5:] += (1 - found.sum()) * even / even.sum()
    return found


#: The paper's four kinds, as plainly as can be.
KINDS = {
    "dense": centre(sep=0.05),
    "diagonal": centre(cls=0.1, self=0.15, w00=0.5, w01=0.1),
    "dense_vertical": centre(cls=0.15, sep=0.25),
    "vertical": centre(sep=0.7, period=0.1),
}


def planted_heads(n_each: int = 6, noise: float = 0.01, seed: int = 0) -> HeadFeatures:
    """Heads around the four centres; each part sees them with its own noise."""
    rng = np.random.default_rng(seed)
    true = np.repeat(np.stack(list(KINDS.values())), n_each, axis=0)
    true = np.abs(true + rng.normal(0, noise, true.shape))
    true /= true.sum(axis=1, keepdims=True)
    parts = np.abs(true + rng.normal(0, noise, (N_PARTS, *true.shape)))
    parts /= parts.sum(axis=2, keepdims=True)
    heads = tuple(HeadId(*divmod(i, 6)) for i in range(len(true)))
    sizes = np.ones((N_PARTS, len(heads)))
    return HeadFeatures(heads, ALL_FEATURES, parts.mean(axis=0), parts, sizes)


def saved(path: Path, data: HeadFeatures, name: str = "tiny") -> Run:
    n_heads, n_features = data.matrix.shape
    table = {
        "layer": np.repeat([h.layer for h in data.heads], n_features),
        "head": np.repeat([h.head for h in data.heads], n_features),
        "feature": np.tile(data.features, n_heads),
        "mean": data.matrix.ravel(),
    }
    arrays = {"distance_parts": data.parts, "distance_part_sizes": data.sizes[:, 0].copy()}
    record = RunRecord(model=ModelRecord(name=name))
    with RunWriter.open(path, record) as writer:
        writer.complete({"distance": Result({"distance": table}, arrays)}, record)
    return open_run(path)


@pytest.mark.parametrize("method", ["kmeans", "gmm"])
def test_the_paper_s_four_kinds_are_found_and_named(method: str) -> None:
    data = planted_heads()
    found = cluster(data, method=method)  # type: ignore[arg-type]
    assert [found.names[label] for label in found.labels] == list(np.repeat(NAMES, 6))
    assert found.stability == 1.0
    special = found.centres[:, :4].sum(axis=1)
    assert (np.diff(special) > 0).all()  # numbered by attention to special tokens


def test_labels_agree_with_scikit_learn_and_so_does_the_silhouette() -> None:
    data = planted_heads(noise=0.1)
    found = cluster(data, k=3)
    theirs = KMeans(3, n_init=10, random_state=0).fit_predict(data.matrix)
    assert adjusted_rand_score(theirs, found.labels) == 1.0
    assert found.silhouette.mean() == pytest.approx(silhouette_score(data.matrix, theirs))


def test_heads_on_a_border_are_not_stable() -> None:
    """One head lies between two kinds; parts push it to either side."""
    data = planted_heads(noise=0.004)
    between = (KINDS["dense"] + KINDS["vertical"]) / 2
    parts = data.parts.copy()
    toward = np.where(np.arange(N_PARTS) % 2, 1.0, -1.0)[:, None]
    parts[:, 0] = between + toward * 0.2 * (KINDS["dense"] - KINDS["vertical"])
    # every other head of both kinds moves with the halves, and the border with them
    rng = np.random.default_rng(1)
    parts[:, 1:6] += rng.normal(0, 0.5, (N_PARTS, 1, 1)) * (KINDS["dense"] - KINDS["vertical"])
    moved = HeadFeatures(data.heads, data.features, parts.mean(axis=0), parts, data.sizes)
    found = cluster(moved, k=2)
    assert found.stable is not None
    assert not found.stable[0]
    assert found.stable[-1]
    assert 0 < found.stability < 1


def test_no_name_is_given_where_the_rule_does_not_hold() -> None:
    # 0.25 + 0.75 · (1 − (7/8)²) ≈ 43 % near: neither diagonal nor dense
    near = centre(self=0.05, w00=0.2)
    assert shapes(near[None], ALL_FEATURES) == [None]
    assert shapes(np.stack(list(KINDS.values())), ALL_FEATURES) == list(NAMES)
    # a centre may meet a rule that most of its heads do not
    heads = np.stack([centre(sep=1.0), centre(sep=0.45), centre(sep=0.45), centre(sep=0.45)])
    middle = heads.mean(axis=0, keepdims=True)
    assert shapes(middle, ALL_FEATURES) == ["vertical"]
    assert named(middle, heads, np.zeros(4, np.int64), ALL_FEATURES) == (None,)


def test_matching_renames_only() -> None:
    rng = np.random.default_rng(0)
    reference = rng.integers(0, 4, 50)
    renamed = np.array([2, 0, 3, 1])[reference]
    assert (matched(renamed, reference, 4) == reference).all()


def test_too_few_heads_or_sequences_are_said_so() -> None:
    data = planted_heads(n_each=1)
    with pytest.raises(UsageError, match="expected 2 to 3"):
        cluster(data, k=4)
    empty = np.zeros_like(data.sizes)
    empty[0] = 1
    alone = HeadFeatures(data.heads, data.features, data.matrix, data.parts, empty)
    found = cluster(alone, k=2)
    assert found.stable is None
    assert np.isnan(found.stability)


def test_a_run_gets_its_tables_and_figures(tmp_path: Path) -> None:
    run = saved(tmp_path / "run", planted_heads())
    write_clusters(run, Settings(stability=True))
    clusters = run.table("clusters").to_pydict()
    assert clusters["name"] == list(np.repeat(NAMES, 6))
    assert all(clusters["stable"])
    choice = run.table("cluster_choice").to_pydict()
    assert choice["k"] == list(range(2, 9))
    assert choice["k"][int(np.argmax(choice["silhouette"]))] == 4
    assert choice["stability"][2] == 1.0
    assert set(run.table("cluster_map").to_pydict()["projection"]) == {"tsne", "pca"}
    sentence = draw(run, "clusters").sentence
    assert "6 dense, 6 diagonal, 6 dense & vertical and 6 vertical" in sentence
    assert "100.0 %" in sentence
    for name in ("cluster_features", "cluster_choice"):
        picture = draw(run, name)
        assert picture.themed("light")["description"]
    names = ("clusters", "cluster_map", "cluster_choice")
    before = {name: repr(run.table(name).to_pydict()) for name in names}
    write_clusters(run, Settings(stability=True))
    assert before == {name: repr(run.table(name).to_pydict()) for name in names}


def test_runs_without_distance_are_refused(tmp_path: Path) -> None:
    record = RunRecord(model=ModelRecord(name="tiny"))
    with RunWriter.open(tmp_path / "run", record) as writer:
        writer.complete({}, record)
    with pytest.raises(RunError, match="distance features"):
        read_features(open_run(tmp_path / "run"))


def test_several_runs_together_and_apart(tmp_path: Path) -> None:
    before, after = planted_heads(seed=1), planted_heads(seed=2)
    # one head turns from dense to vertical
    matrix, parts = after.matrix.copy(), after.parts.copy()
    matrix[0], parts[:, 0] = KINDS["vertical"], KINDS["vertical"]
    after = HeadFeatures(after.heads, after.features, matrix, parts, after.sizes)
    for together in (True, False):
        (_, first), (_, second) = cluster_data([before, after], Settings(), together=together)
        assert np.flatnonzero(first.labels != second.labels).tolist() == [0]
        assert second.names[second.labels[0]] == "vertical"
    runs = [saved(tmp_path / "a", before, "old"), saved(tmp_path / "b", after, "new")]
    found = cluster_several(runs, Settings(), together=True)
    written = write_comparison(tmp_path / "c", runs, found, Settings(), together=True)
    assert written.table("clusters_compared").num_rows == 48
    assert "1 of 24 heads of new" in draw(written, "clusters_compared").sentence
    assert joined([before, after]).matrix.shape == (48, 21)
    assert "clusters" not in runs[0].tables
