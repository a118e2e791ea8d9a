"""Export to ONNX: one matrix product, the highest score, and the labels."""

import os

import numpy as np


def to_onnx(clf, path):
    try:
        import onnx
    except ImportError as error:
        raise ImportError("to_onnx needs the package onnx: pip install topwolf[onnx]") from error
    from onnx import TensorProto, helper, numpy_helper

    coef, intercept = np.asarray(clf.coef_, np.float32), np.asarray(clf.intercept_, np.float32)
    if len(clf.classes_) == 2:
        coef, intercept = np.vstack([-coef, coef]) / 2, np.concatenate([-intercept, intercept]) / 2
    if clf._record["normalization"] != "none":
        raise ValueError(f"to_onnx: the model normalises its rows ({clf._record['normalization']}), which is not exported")
    text = clf.classes_.dtype.kind in "UO"
    classes = clf.classes_.astype(object) if text else clf.classes_.astype(np.int64)
    if not text and not np.array_equal(classes, clf.classes_):
        raise TypeError("to_onnx: labels must be integers, booleans or text")
    label_type = TensorProto.STRING if text else TensorProto.INT64
    graph = helper.make_graph(
        [
            helper.make_node("Gemm", ["X", "coef", "intercept"], ["scores"], transB=1),
            helper.make_node("ArgMax", ["scores"], ["best"], axis=1, keepdims=0),
            helper.make_node("Gather", ["classes", "best"], ["label"]),
        ],
        "topwolf",
        [helper.make_tensor_value_info("X", TensorProto.FLOAT, ["n", clf.n_features_in_])],
        [
            helper.make_tensor_value_info("label", label_type, ["n"]),
            helper.make_tensor_value_info("scores", TensorProto.FLOAT, ["n", len(clf.classes_)]),
        ],
        [
            numpy_helper.from_array(coef, "coef"),
            numpy_helper.from_array(intercept, "intercept"),
            numpy_helper.from_array(classes, "classes"),
        ],
    )
    model = helper.make_model(
        graph, producer_name="topwolf", opset_imports=[helper.make_opsetid("", 17)], ir_version=8
    )
    onnx.checker.check_model(model)
    if path is not None:
        onnx.save(model, os.fspath(path))
    return model
