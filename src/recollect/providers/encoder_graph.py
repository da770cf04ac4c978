"""Builds ONNX graphs of BERT encoders from their weights, in fp32 or in per-token int8.

`minilm_graph` is the embedder's: from summed input embeddings to the sum of the last layer over a text's tokens.
`judge_graph` is the judge's: to a logit for a pair of texts. Looking up embeddings stays outside: they are half of
the weights and can stay mapped where they are, so a cached int8 graph is 11 MB instead of 55 and loads in a fraction of
the time.

Why per-token int8: ordinary dynamic quantisation takes one scale for a whole batch, so what a text gives depends on
the texts beside it (cosine with itself down to 0.959). Here every token has its own scale.

Only this module imports `onnx`, and it is imported only when a graph has to be built. When the embedder's graph
changes, raise `minilm.GRAPH_VERSION`, or old cached graphs stay in use.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import onnx
from numpy.typing import NDArray
from onnx import TensorProto, helper, numpy_helper

HEADS, WIDTH = 12, 384
LAYER_NORM_EPSILON = 1e-12
MICROSOFT = "com.microsoft"  # ONNX Runtime's own operators

# Activations use the whole of uint8 around 128 (signed ones miss the fast kernel, six times slower).
# Weights stop at 104 of 127: processors without VNNI add two products in 16 bits, which saturates.
# Mean cosine to fp32 on such a processor: 0.9963 with 127 (saturation), 0.9971 with 110 and with 96, 0.9961 with 64.
ACTIVATION_STEPS, ACTIVATION_ZERO, WEIGHT_STEPS = 127, 128, 104

Array = NDArray[Any]


def minilm_graph(tensors: Mapping[str, Array], *, int8: bool) -> bytes:
    """The embedder, serialized: inputs `embeddings` and `mask`, output `sums`."""
    graph = _Graph(int8=int8)
    x = graph.layer_norm(
        "embeddings", tensors["embeddings.LayerNorm.weight"], tensors["embeddings.LayerNorm.bias"]
    )
    for layer in _layers(tensors):
        x = _encoder_layer(graph, x, layer)
    mask = graph.add(
        "Unsqueeze", graph.add("Cast", "mask", to=TensorProto.FLOAT), graph.constant([2], np.int64)
    )
    graph.add(
        "ReduceSum", graph.add("Mul", x, mask), graph.constant([1], np.int64), keepdims=0, output="sums"
    )
    return graph.serialize({"sums": ["texts", WIDTH]})


def judge_graph(tensors: Mapping[str, Array], *, int8: bool = True) -> bytes:
    """The judge, serialized: from `embeddings` and `mask` to `verdict`, a logit from the vector of [CLS].

    Its head is `head` in `tensors`, the rest is named as in BERT.
    """
    graph = _Graph(int8=int8)
    x = graph.layer_norm(
        "embeddings", tensors["embeddings.LayerNorm.weight"], tensors["embeddings.LayerNorm.bias"]
    )
    *layers, last = _layers(tensors)
    for layer in layers:
        x = _encoder_layer(graph, x, layer)
    head = _under(tensors, "head.")
    first = graph.add("Squeeze", _encoder_layer_of_first(graph, x, last), graph.constant([1], np.int64))
    pooled = graph.add(
        "Gemm", first, graph.constant(head["0.weight"]), graph.constant(head["0.bias"]), transB=1
    )
    weight, bias = graph.constant(head["2.weight"]), graph.constant(head["2.bias"])
    graph.add("Gemm", graph.add("Tanh", pooled), weight, bias, transB=1, output="verdict")
    return graph.serialize({"verdict": ["texts", 1]})


def _encoder_layer(graph: _Graph, x: str, tensors: Mapping[str, Array]) -> str:
    parts = [f"attention.self.{part}" for part in ("query", "key", "value")]
    # Joined into one product: the input is quantised once, and one large product beats three.
    joined = graph.product(x, np.concatenate([tensors[f"{part}.weight"] for part in parts]))
    query, key, value = graph.split(joined, 3)
    bias = graph.constant(np.concatenate([tensors[f"{part}.bias"] for part in parts]))
    return _after_attention(graph, x, graph.attention(query, key, value, bias), tensors)


def _encoder_layer_of_first(graph: _Graph, x: str, tensors: Mapping[str, Array]) -> str:
    """The last layer for the first token alone, which looks at all others: a sixth of the work."""
    parts = [f"attention.self.{part}" for part in ("query", "key", "value")]
    first = graph.add("Gather", x, graph.constant([0], np.int64), axis=1)
    query = graph.product(first, tensors[f"{parts[0]}.weight"])
    joined = graph.product(x, np.concatenate([tensors[f"{part}.weight"] for part in parts[1:]]))
    key, value = graph.split(joined, 2)
    bias = graph.constant(np.concatenate([tensors[f"{part}.bias"] for part in parts]))
    return _after_attention(graph, first, graph.attention(query, key, value, bias), tensors)


def _after_attention(graph: _Graph, x: str, attended: str, tensors: Mapping[str, Array]) -> str:
    y = graph.product(attended, tensors["attention.output.dense.weight"])
    x = graph.add_and_norm(x, y, _under(tensors, "attention.output."))
    hidden = graph.product(x, tensors["intermediate.dense.weight"])
    hidden = graph.add(
        "BiasGelu", hidden, graph.constant(tensors["intermediate.dense.bias"]), domain=MICROSOFT
    )
    y = graph.product(hidden, tensors["output.dense.weight"])
    return graph.add_and_norm(x, y, _under(tensors, "output."))


def _layers(tensors: Mapping[str, Array]) -> list[dict[str, Array]]:
    """The weights of each layer, in order."""
    count = 1 + max(int(name.split(".")[2]) for name in tensors if name.startswith("encoder.layer."))
    return [_under(tensors, f"encoder.layer.{layer}.") for layer in range(count)]


def _under(tensors: Mapping[str, Array], prefix: str) -> dict[str, Array]:
    return {name[len(prefix) :]: array for name, array in tensors.items() if name.startswith(prefix)}


class _Graph:
    """Nodes and constants as they are added; every method returns the name of a value."""

    def __init__(self, *, int8: bool) -> None:
        self._int8 = int8
        self._nodes: list[onnx.NodeProto] = []
        self._constants: list[onnx.TensorProto] = []
        if int8:
            self._step = self.constant(np.float32(1 / ACTIVATION_STEPS))
            self._zero = self.constant(np.uint8(ACTIVATION_ZERO))
            self._tiny = self.constant(np.float32(1e-8))
            self._last_axis = self.constant([-1], np.int64)

    def constant(self, value: Any, dtype: Any = None) -> str:
        name = f"c{len(self._constants)}"
        array = np.asarray(value, dtype=dtype)
        # ascontiguousarray would turn a scalar into a vector, which the scales may not be.
        self._constants.append(numpy_helper.from_array(np.array(array, order="C"), name))
        return name

    def add(
        self, kind: str, *inputs: str, domain: str = "", output: str | None = None, **attributes: Any
    ) -> str:
        name = output or f"v{len(self._nodes)}"
        self._nodes.append(helper.make_node(kind, list(inputs), [name], domain=domain, **attributes))
        return name

    def split(self, x: str, parts: int) -> list[str]:
        names = [f"v{len(self._nodes)}_{part}" for part in range(parts)]
        self._nodes.append(helper.make_node("Split", [x], names, axis=-1, num_outputs=parts))
        return names

    def attention(self, query: str, key: str, value: str, bias: str) -> str:
        return self.add(
            "MultiHeadAttention", query, key, value, bias, "mask", domain=MICROSOFT, num_heads=HEADS
        )

    def layer_norm(self, x: str, weight: Array, bias: Array) -> str:
        return self.add(
            "LayerNormalization",
            x,
            self.constant(weight),
            self.constant(bias),
            axis=-1,
            epsilon=LAYER_NORM_EPSILON,
        )

    def add_and_norm(self, x: str, y: str, tensors: Mapping[str, Array]) -> str:
        """LayerNorm(x + y + the bias of the product that gave y).

        Three operators: the runtime's fused operator takes three times as long on a processor (1.31).
        """
        added = self.add("Add", self.add("Add", x, y), self.constant(tensors["dense.bias"]))
        return self.layer_norm(added, tensors["LayerNorm.weight"], tensors["LayerNorm.bias"])

    def product(self, x: str, weight: Array) -> str:
        """The product of x and the transposed weight, without a bias."""
        if not self._int8:
            return self.add("MatMul", x, self.constant(weight.T))
        largest = self.add("ReduceMax", self.add("Abs", x), self._last_axis, keepdims=1)
        scale = self.add("Max", largest, self._tiny)
        rounded = self.add("QuantizeLinear", self.add("Div", x, scale), self._step, self._zero)
        column_scale = np.maximum(np.abs(weight).max(axis=1), 1e-8) / WEIGHT_STEPS
        weight_int8 = np.rint(weight / column_scale[:, None]).astype(np.int8)
        product = self.add(
            "MatMulIntegerToFloat",
            rounded,
            self.constant(weight_int8.T),
            self._step,
            self.constant(column_scale.astype(np.float32)),
            self._zero,
            domain=MICROSOFT,
        )
        return self.add("Mul", product, scale)

    def serialize(self, outputs: Mapping[str, list[Any]]) -> bytes:
        shape = ["texts", "tokens"]
        graph = helper.make_graph(
            self._nodes,
            "encoder",
            [
                helper.make_tensor_value_info("embeddings", TensorProto.FLOAT, [*shape, WIDTH]),
                helper.make_tensor_value_info("mask", TensorProto.INT32, shape),
            ],
            [
                helper.make_tensor_value_info(name, TensorProto.FLOAT, shape_of)
                for name, shape_of in outputs.items()
            ],
            self._constants,
        )
        model = helper.make_model(
            graph,
            opset_imports=[helper.make_opsetid("", 20), helper.make_opsetid(MICROSOFT, 1)],
            ir_version=10,  # what ONNX Runtime 1.23, the oldest we accept, reads
        )
        return bytes(model.SerializeToString())
