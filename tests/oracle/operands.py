"""Operands of torch's calls: trees of tensors, numbers and lists, turned into ours, into f64, into absolute values."""

import numpy as np
import oarlock as o
import torch

from twin import Excluded


def mapped(value, f, path=""):
    """value with f(tensor, path) in place of its tensors."""
    if isinstance(value, torch.Tensor):
        return f(value, path)
    if isinstance(value, (tuple, list)) and not isinstance(value, torch.Size):
        return type(value)(mapped(v, f, f"{path}[{i}]") for i, v in enumerate(value))
    if isinstance(value, dict):
        return {k: mapped(v, f, f"{path}[{k}]") for k, v in value.items()}
    return value


def parts(sample):
    return {"input": sample.input, "args": tuple(sample.args), "kwargs": dict(sample.kwargs)}


def everywhere(tree, f):
    return {k: mapped(v, f, k) for k, v in tree.items()}


def ours_of(t, path=""):
    if t.layout is not torch.strided or t.device.type != "cpu" or type(t) not in (torch.Tensor, torch.nn.Parameter):
        raise Excluded("meta")
    if t.dtype.is_complex:
        raise Excluded("meta")
    if t.is_neg():
        t = t.resolve_neg()
    return o.from_dlpack(t.detach())


def flat(out):
    if out is None:
        return []
    if isinstance(out, (tuple, list)):
        return [leaf for part in out for leaf in flat(part)]
    return [out]


def array(x):
    if isinstance(x, torch.Tensor):
        x = x.detach()
        return (x.double() if x.dtype in (torch.bfloat16, torch.float16) else x).numpy(force=True)
    x = x.detach()
    if str(x.dtype).split(".")[-1] in ("bfloat16", "float16"):
        x = o.cast(x, "float64")
    return np.asarray(x)


def dtype_name(x):
    return str(x.dtype).split(".")[-1]


def call_torch(f, tree):
    return flat(f(tree["input"], *tree["args"], **tree["kwargs"]))


def widened(tree):
    """The tree in f64: tensors and dtype arguments."""

    def wide(t, path):
        return t.detach().double() if t.dtype == torch.float32 else t.detach().clone()

    out = everywhere(tree, wide)
    for key, value in out["kwargs"].items():
        if value == torch.float32 and isinstance(value, torch.dtype):
            out["kwargs"][key] = torch.float64
    out["args"] = tuple(torch.float64 if isinstance(v, torch.dtype) and v == torch.float32 else v for v in out["args"])
    return out


def absolutes(tree):
    out = everywhere(tree, lambda t, p: t.abs() if t.dtype.is_floating_point else t)
    for key, value in out["kwargs"].items():
        if isinstance(value, (int, float)) and not isinstance(value, bool) and key in ("alpha", "weight", "value"):
            out["kwargs"][key] = abs(value)
    return out


def elements(tree):
    total = 0

    def add(t, path):
        nonlocal total
        total += t.numel() if t.dtype.is_floating_point else 0
        return t

    everywhere(tree, add)
    return total


def describe(tree):
    def short(v):
        if isinstance(v, torch.Tensor):
            return f"{dtype_name(v)}{list(v.shape)}"
        if isinstance(v, (tuple, list)):
            return "(" + ", ".join(short(i) for i in v) + ")"
        if isinstance(v, dict):
            return ", ".join(f"{k}={short(i)}" for k, i in v.items())
        return repr(v)

    return ", ".join(s for s in (short(tree["input"]), *(short(a) for a in tree["args"]), short(tree["kwargs"])) if s)
