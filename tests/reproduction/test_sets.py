"""Where the rows come from, and that they are labelled as what they are."""

import numpy as np
import pytest
import sets


@pytest.fixture
def small_paper(monkeypatch):
    """The paper's sets at a size that is quickly generated."""
    monkeypatch.setattr(sets, "SETS", {name: paper._replace(n=300, d=12, m=12) for name, paper in sets.SETS.items()})


def drop(folder, name, X, y):
    np.save(folder / f"{name}.npy", X)
    np.save(folder / f"{name}.labels.npy", y)


def unit(X):
    return X / np.linalg.norm(X, axis=1, keepdims=True)


def test_dropped_in_features_go_first_and_are_labelled(tmp_path, small_paper):
    X = np.random.default_rng(0).normal(size=(77, 7))
    drop(tmp_path, "cub200", X, np.array([f"bird {i % 11:02d}" for i in range(77)]))
    rows = sets.load("cub200", tmp_path, quick=False)
    assert rows.title == "CUB200 (dropped in)" and rows.label == "features dropped in, 77 x 7"
    assert rows.shape == (77, 7, 11) and rows.X.dtype == np.float32
    np.testing.assert_allclose(rows.X, X, rtol=1e-6)
    np.testing.assert_allclose(rows.in_unit_length().X, unit(X), rtol=1e-5)
    np.testing.assert_array_equal(rows.y, np.arange(77) % 11)
    other = sets.load("flower102", tmp_path, quick=False)
    assert other.title == "Flower102 (GENERATED)" and other.label.startswith("GENERATED") and not other.comparable


@pytest.mark.parametrize("n, m, comparable", [(300, 12, True), (299, 12, False), (300, 11, False)])
def test_dropped_in_features_are_comparable_if_rows_and_classes_are_as_many_as_the_papers(tmp_path, small_paper, n, m, comparable):
    drop(tmp_path, "cub200", np.ones((n, 2)), np.arange(n) % m)
    assert sets.load("cub200", tmp_path, quick=False).comparable == comparable
    assert not sets.load("cub200", tmp_path, quick=True).comparable


def test_without_data_every_set_of_the_paper_is_generated_always_the_same(small_paper):
    made = {}
    for name in sets.SETS:
        assert sets.there_is(name, None) == (name != "silhouettes16_all")
        if sets.there_is(name, None):
            made[name] = sets.load(name, None, quick=False).about()
            assert made[name] == sets.load(name, None, quick=False).about()
            assert "(GENERATED)" in made[name].title and made[name].shape == (300, 12, 12)
    assert len({about.checksum for about in made.values()}) == len(made)


def test_the_recipes_of_scripts_data_are_used(tmp_path, small_paper):
    folder = tmp_path / "flower102_cnn4096"
    folder.mkdir()
    X, y = np.arange(1, 217, dtype=np.uint8).reshape(72, 3), np.arange(72) % 12
    scale = np.array([1.0, 2.0, 4.0], np.float32)
    np.savez(folder / "flower102_cnn4096.npz", X=X, y=y, scale=scale)
    rows = sets.load("flower102", tmp_path, quick=False)
    assert rows.title == "Flower102 (MobileNet)" and rows.label == "MobileNet features, not the paper's VGG16"
    np.testing.assert_array_equal(rows.X, X * scale)
    assert sets.found_any(tmp_path) and not sets.found_any(folder)


def test_another_set_in_the_place_of_the_papers_is_not_comparable(tmp_path, small_paper):
    folder = tmp_path / "caltech101_photos_cnn2304"
    folder.mkdir()
    np.savez(folder / "caltech101_photos_cnn2304.npz", X=np.ones((72, 3), np.float32), y=np.arange(72) % 12)
    rows = sets.load("indoor67", tmp_path, quick=False)
    assert rows.title == "Indoor67 (Caltech101 photos instead)" and "ANOTHER SET" in rows.label and not rows.comparable


def test_quick_takes_few_rows_and_says_so(small_paper):
    rows = sets.load("news20", None, quick=True)
    assert rows.title == "News20 (GENERATED, QUICK)" and "QUICK: 288 rows of 12 classes" in rows.label
    assert rows.shape == (288, 12, 12) and np.bincount(rows.y).max() == sets.QUICK_ROWS_PER_CLASS


TWELVE = np.arange(72) % 12


@pytest.mark.parametrize(
    "X, y, sentence",
    [
        (np.ones((72, 2)), np.arange(71), "a row for each of the 71 labels"),
        (np.ones(72), TWELVE, "a row for each of the 72 labels"),
        (np.ones((72, 0)), TWELVE, "a row for each of the 72 labels"),
        (np.full((72, 2), np.nan), TWELVE, "not finite"),
        (np.full((72, 2), 1e300), TWELVE, "not finite in single precision"),
        (np.ones((72, 2)), np.arange(72) % 10, "more than 10 classes"),
        (np.ones((71, 2)), np.arange(71) % 12, "six rows for each class, on average, and has 71 for 12"),
        (np.array([["a", "b"]] * 72), TWELVE, "matrix of numbers"),
    ],
)
def test_what_cannot_be_used_is_refused_in_a_sentence(tmp_path, X, y, sentence):
    drop(tmp_path, "cub200", X, y)
    with pytest.raises(sets.BadSet, match=sentence):
        sets.load("cub200", tmp_path, quick=False)


@pytest.mark.parametrize("content", [b"not an array", b"", b"PK\x03\x04broken"])
def test_a_pair_must_be_whole_and_readable(tmp_path, content):
    (tmp_path / "cub200.npy").write_bytes(content)
    with pytest.raises(sets.BadSet, match=r"has no cub200\.labels\.npy beside it"):
        sets.load("cub200", tmp_path, quick=False)
    np.save(tmp_path / "cub200.labels.npy", np.arange(3))
    with pytest.raises(sets.BadSet, match="cannot be read as NumPy arrays"):
        sets.load("cub200", tmp_path, quick=False)
    (tmp_path / "cub200.npy").unlink()
    with pytest.raises(sets.BadSet, match=r"cub200\.labels\.npy has no cub200\.npy beside it"):
        sets.load("cub200", tmp_path, quick=False)


def test_an_archive_is_no_matrix(tmp_path):
    np.savez(tmp_path / "cub200.npz", X=np.ones((72, 2)))
    (tmp_path / "cub200.npz").rename(tmp_path / "cub200.npy")
    np.save(tmp_path / "cub200.labels.npy", TWELVE)
    with pytest.raises(sets.BadSet, match="must hold a matrix of numbers"):
        sets.load("cub200", tmp_path, quick=False)


def test_a_broken_set_of_scripts_data_is_named(tmp_path):
    (tmp_path / "flower102_cnn4096").mkdir()
    (tmp_path / "flower102_cnn4096" / "flower102_cnn4096.npz").write_bytes(b"PK\x03\x04broken")
    with pytest.raises(sets.BadSet, match="flower102 in .* cannot be read"):
        sets.load("flower102", tmp_path, quick=False)
