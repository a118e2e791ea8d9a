"""Export to ONNX: one matrix product, the highest score, and the labels."""

import numpy as np
from scipy import sparse

from ._weights import every_class


def to_onnx(clf, path):
    if sparse.issparse(clf.coef_):
        raise ValueError(
            f"to_onnx: coef_ is sparse, for few of the {clf.n_features_in_} features occurred; ONNX would need them all"
        )
    try:
        import onnx
    except ImportError as error:
        raise ImportError("to_onnx needs the package onnx: pip install topwolf[onnx]") from error
    from onnx import TensorProto, helper, numpy_helper

    coef = every_class(clf.coef_)
    intercept = every_class(clf.intercept_).astype(coef.dtype)
    if clf._classifier["normalization"] != "none":
        raise ValueError(f"to_onnx: the model normalises its rows ({clf._classifier['normalization']}), which is not exported")
    kind = clf.classes_.dtype.kind
    if kind in "UO":
        classes, label_type = clf.classes_.astype(object), TensorProto.STRING
    elif kind == "b":
        classes, label_type = clf.classes_, TensorProto.BOOL
    else:  # floats that are labels are whole numbers
        classes, label_type = clf.classes_.astype(np.int64), TensorProto.INT64
    number = TensorProto.FLOAT if coef.dtype == np.float32 else TensorProto.DOUBLE
    nodes, outputs, numbers = _probabilities(clf, number, coef.dtype, helper, numpy_helper)
    graph = helper.make_graph(
        [
            helper.make_node("Gemm", ["X", "coef", "intercept"], ["scores"], transB=1),
            helper.make_node("ArgMax", ["scores"], ["best"], axis=1, keepdims=0),
            helper.make_node("Gather", ["classes", "best"], ["label"]),
            *nodes,
        ],
        "topwolf",
        [helper.make_tensor_value_info("X", number, ["n", clf.n_features_in_])],
        [
            helper.make_tensor_value_info("label", label_type, ["n"]),
            helper.make_tensor_value_info("scores", number, ["n", len(clf.classes_)]),
            *outputs,
        ],
        [
            numpy_helper.from_array(coef, "coef"),
            numpy_helper.from_array(intercept, "intercept"),
            numpy_helper.from_array(classes, "classes"),
            *numbers,
        ],
    )
    model = helper.make_model(
        graph, producer_name="topwolf", opset_imports=[helper.make_opsetid("", 17)], ir_version=8
    )
    onnx.checker.check_model(model)
    if path is not None:
        onnx.save(model, path)
    return model


def _probabilities(clf, number, dtype, helper, numpy_helper):
    """Nodes, outputs and constants of them, where the classifier gives any. What is divided is below 0, so that nothing
    overflows to infinity in both of two classes."""
    if not hasattr(clf, "predict_proba"):
        return [], [], []
    temperature = np.clip(clf.temperature_, np.finfo(dtype).smallest_subnormal, np.finfo(dtype).max)  # that of float64 may be no float32
    return (
        [
            helper.make_node("ReduceMax", ["scores"], ["highest"], axes=[1], keepdims=1),
            helper.make_node("Sub", ["scores", "highest"], ["below"]),
            helper.make_node("Div", ["below", "temperature"], ["scaled"]),
            helper.make_node("Softmax", ["scaled"], ["probabilities"], axis=1),
        ],
        [helper.make_tensor_value_info("probabilities", number, ["n", len(clf.classes_)])],
        [numpy_helper.from_array(np.array(temperature, dtype), "temperature")],
    )
