"""Tensors as text, as NumPy prints arrays."""

_OPTIONS = {"precision": None, "threshold": None, "edgeitems": None, "linewidth": None}


def set_printoptions(precision=None, threshold=None, edgeitems=None, linewidth=None):
    """Digits after the point, elements from which a tensor is summarised, entries shown at each end, columns of a line."""
    given = {"precision": precision, "threshold": threshold, "edgeitems": edgeitems, "linewidth": linewidth}
    _OPTIONS.update({k: v for k, v in given.items() if v is not None})


def text(t):
    import numpy

    from . import _core

    name = t.dtype.name
    values = t.detach()
    threshold = _OPTIONS["threshold"] or numpy.get_printoptions()["threshold"]
    edge = _OPTIONS["edgeitems"] or numpy.get_printoptions()["edgeitems"]
    if values.size > threshold and not values.device.is_host:
        # Only what is shown leaves the device.
        for axis, n in enumerate(values.shape):
            if n > 2 * edge + 1:
                key = (slice(None),) * axis
                values = _core.concat([values[key + (slice(None, edge + 1),)], values[key + (slice(-edge, None),)]], axis)
        threshold = 0
    if name not in _NUMPY:
        values = values.to(_core.float32) if not name.startswith(("int", "uint")) else values.to(_core.int32)
    array = values.cpu().numpy()
    options = {k: v for k, v in _OPTIONS.items() if v is not None}
    options["threshold"] = threshold
    body = numpy.array2string(array, separator=", ", prefix="tensor(", suffix=")", **options) if array.size or array.ndim == 1 else (
        "[]")
    notes = []
    if array.size == 0 and array.shape != (0,):
        notes.append(f"shape={tuple(t.shape)}")
    if name not in ("float32", "int64", "bool") or array.size == 0:
        notes.append(f"dtype={name}")
    if not t.device.is_host:
        notes.append(f"device='{t.device}'")
    if t.requires_grad:
        notes.append("requires_grad=True")
    return "tensor(" + ", ".join([body] + notes) + ")"


_NUMPY = {"bool", "int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64", "float16", "float32", "float64",
          "complex64", "complex128"}
