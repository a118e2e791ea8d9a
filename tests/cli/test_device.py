"""--device: what it takes, and what it says where there is no GPU to be had; what a GPU does is tested on one."""

import pytest

import support


@pytest.fixture
def rows(tmp_path):
    X, y = support.blobs()
    return support.write_libsvm(tmp_path / "rows.svm", X, y)


def test_the_processor_is_the_default(topwolf, rows):
    one, two = topwolf.json("train", rows), topwolf.json("train", "--device", "cpu", rows)
    assert (one["primal"], one["dual"]) == (two["primal"], two["dual"])


@pytest.mark.parametrize("command", ["train", "sweep", "cv"])
@pytest.mark.parametrize("name", ["gpu", "cuda:", "cuda:x", "cuda:-1", "cuda:1x", "CUDA"])
def test_a_device_has_one_of_three_names(topwolf, rows, command, name):
    saying = f"--device is '{name}', but it must be cpu, cuda or cuda:N"
    topwolf.refuses(command, "-q", "--device", name, rows, code=2, saying=saying)


def test_a_gpu_that_is_not_to_be_had_is_one_sentence(topwolf, rows):
    # Of a build without CUDA, or of one with it where there is no GPU.
    topwolf.refuses("train", "-q", "--device", "cuda", rows, "m.topwolf", code=2, saying="--device cuda needs")
    assert not (topwolf.folder / "m.topwolf").exists()


def test_the_gram_matrix_is_the_processors(topwolf, rows):
    topwolf.refuses("train", "-q", "--device", "cuda", "--scores", "gram", rows, code=2, saying="--scores gram is for --device cpu")


def test_classes_with_features_are_the_processors(topwolf, rows):
    topwolf.write("phi.svm", "".join(f"{j + 1} 1:1 {j + 2}:1\n" for j in range(4)))
    topwolf.refuses("train", "-q", "--device", "cuda", "--class-features", "phi.svm", rows, code=2, saying="has no class features")
