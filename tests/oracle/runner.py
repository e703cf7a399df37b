"""Runs one twin: every sample's values, gradients and second order against torch, or the cases against what they want.

Values. For f32 the wanted result is torch's in f64 for the same operands. An element may differ from it by
ulps * eps(f32) * sqrt(n) * scale, n being the elements read for one (see Twin); or by four times what torch's own f32
differs, since where torch too loses digits (a logarithm near 1, a pole) the loss belongs to the function. For f64 the
wanted result is torch's f64, and twice the bound holds, since both round. Integers, bool and what only moves elements:
exactly.

Gradients and second order, in f64: torch.autograd with the same random cotangents; 64 and 1024 in place of ulps, scale
the greatest among the sample's gradients and cotangents, for gradients are sums over many paths.
"""

import math
import re
import traceback
from collections import Counter
from dataclasses import dataclass, field

import numpy as np
import oarlock as o
import torch
from torch.testing._internal.opinfo.core import BinaryUfuncInfo, SampleInput, UnaryUfuncInfo

from difference import largest, worst
from operands import (
    absolutes,
    array,
    call_torch,
    describe,
    dtype_name,
    elements,
    everywhere,
    flat,
    ours_of,
    parts,
    widened,
)
from twin import Excluded

DTYPES = ["float32", "float64", "int64", "int32", "int8", "uint8", "bool"]
MOST = 160  # samples of one OpInfo and dtype; of more every n-th is taken
GRADIENT_ULPS, SECOND_ULPS = 64, 1024


# What torch refuses and Oarlock defines, for whole kinds of ops.
ACCEPTED = {
    "non-zero size": "sizes of 0: shapes follow the same rule as others, and there is nothing to compute",
    "with optional 0 dim batch size": "sizes of 0: shapes follow the same rule as others, and there is nothing to compute",
    "to be greater than 0": "sizes of 0: shapes follow the same rule as others, and there is nothing to compute",
}
BOUND = re.compile(r"attribute \w+ is .*, needs")


@dataclass
class Count:
    samples: int = 0
    passed: int = 0
    values: list = field(default_factory=lambda: [0, 0])  # passed, of
    gradients: list = field(default_factory=lambda: [0, 0])
    second: list = field(default_factory=lambda: [0, 0])
    errors: list = field(default_factory=lambda: [0, 0])
    excluded: Counter = field(default_factory=Counter)  # samples, by reason
    not_drawn: int = 0
    without: Counter = field(default_factory=Counter)  # checks left out of samples that count
    failures: list = field(default_factory=list)
    notes: set = field(default_factory=set)


class Run:
    def __init__(self, twin, info, our_dtypes, has_gradient):
        self.twin, self.info, self.count = twin, info, Count()
        self.ours_dtypes, self.has_gradient = our_dtypes, has_gradient
        self.torch = twin.torch or (info.op if info else None)

    # -- samples

    def samples(self, dtype):
        torch.manual_seed(0)
        np.random.seed(0)
        grad = dtype == torch.float64 and self.twin.gradient
        if self.twin.samples:
            yield from self.twin.samples(dtype, grad)
            return
        drawn = list(self.info.sample_inputs("cpu", dtype, requires_grad=grad and self.info.supports_autograd))
        step = math.ceil(len(drawn) / MOST)
        self.count.not_drawn += len(drawn) - len(drawn[::step])
        yield from drawn[::step]
        if dtype == torch.float64:
            for sample in drawn[:: max(1, len(drawn) // 8)]:
                yield sample.noncontiguous()
        if dtype.is_floating_point and self.twin.special:
            yield from self.special(dtype)

    def special(self, dtype):
        """NaN, infinities, zeros of both signs, the least and the greatest numbers: values only."""
        info = torch.finfo(dtype)
        line = torch.tensor(
            [
                float("inf"),
                -float("inf"),
                0.0,
                -0.0,
                1.0,
                -1.0,
                0.5,
                -0.5,
                2.5,
                -2.5,
                3.0,
                info.max,
                info.min,
                info.tiny,
                -info.tiny,
                info.eps,
                100.0,
                -100.0,
                *([] if self.twin.nan else [float("nan")]),
            ],
            dtype=dtype,
        )
        if isinstance(self.info, UnaryUfuncInfo):
            kwargs = self.info.sample_kwargs("cpu", dtype, line)[0]
            yield SampleInput(line, args=(), kwargs=dict(kwargs))
        if isinstance(self.info, BinaryUfuncInfo) and not self.info.name.startswith("__r"):
            yield SampleInput(line.reshape(-1, 1), line)

    def run(self):
        try:
            if self.twin.cases:
                return self.run_cases()
            if self.info is None and not self.twin.samples:
                raise LookupError(f"{self.twin.name} is no OpInfo of this torch")
            for name in DTYPES:
                dtype = getattr(torch, name)
                theirs = self.info is None or dtype in self.info.supported_dtypes("cpu")
                if self.info is None and not self.twin.dtypes:
                    theirs = name in ("float32", "float64")
                if not theirs or (self.twin.dtypes and name not in self.twin.dtypes):
                    continue
                if self.ours_dtypes and name not in self.ours_dtypes:
                    self.count.notes.add(f"torch also {name}")
                    continue
                if self.twin.nan:
                    self.count.notes.add("NaN: " + self.twin.nan)
                for sample in self.samples(dtype):
                    self.sample(sample, dtype)
            if self.info is not None and self.info.error_inputs_func is not None:
                self.error_inputs()
        except Exception:
            self.count.samples += 1
            self.count.failures.append("the run itself: " + traceback.format_exc(limit=-3))
        return self.count

    # -- one sample

    def sample(self, sample, dtype):
        count, tree = self.count, parts(sample)
        count.samples += 1
        try:
            problems = self.check(tree, dtype)
        except Excluded as why:
            count.excluded[why.reason] += 1
            if why.detail:
                count.notes.add(f"{why.reason}: {why.detail}")
            return
        if problems:
            count.failures += [f"{str(dtype).removeprefix('torch.')} {p}; for {describe(tree)}" for p in problems]
        else:
            count.passed += 1

    def call_ours(self, tree, leaves):
        ours = {}

        def convert(t, path):
            x = ours_of(t)
            if t.requires_grad and t.dtype.is_floating_point:
                x.requires_grad_()
                if path not in self.twin.constant:
                    ours[path] = x
            return x

        mine = everywhere(tree, convert)
        if leaves is not None:
            leaves.update(ours)
        try:
            return flat(self.twin.call(mine["input"], *mine["args"], **mine["kwargs"]))
        except TypeError as error:
            if "argument" in str(error) and ("unexpected" in str(error) or "positional" in str(error)):
                raise Excluded("argument", str(error)) from None
            raise

    def check(self, tree, dtype):
        twin, count = self.twin, self.count
        leaves = {}
        try:
            ours = self.call_ours(tree, leaves)
        except Excluded:
            raise
        except Exception as error:
            if isinstance(error, o.InvalidArgument) and BOUND.search(str(error)):
                count.notes.add("bounds: " + str(error))
                raise Excluded("bounds") from None
            count.values[1] += 1
            return [f"raised {type(error).__name__}: {error}"]
        theirs = call_torch(lambda *a, **k: twin.pick(self.torch(*a, **k)), tree)
        problem = self.values(tree, dtype, ours, theirs)
        count.values[1] += 1
        count.values[0] += problem is None
        if problem:
            return ["values: " + problem]
        if dtype == torch.float64 and self.twin.gradient and leaves:
            return self.gradients(tree, leaves, ours, theirs)
        return []

    def values(self, tree, dtype, ours, theirs):
        twin = self.twin
        if len(ours) != len(theirs):
            return f"{len(ours)} results, wanted {len(theirs)}"
        absolute, want64 = None, None
        for i, (x, t) in enumerate(zip(ours, theirs)):
            got, want = array(x), array(t)
            if dtype_name(x) != dtype_name(t):
                if not twin.other_dtype:
                    return f"dtype {dtype_name(x)}, wanted {dtype_name(t)}"
                self.count.notes.add(twin.other_dtype)
            if got.dtype.kind != "f" or twin.exact:
                problem = worst(got, want.astype(got.dtype) if got.dtype.kind in "biu" else want, 0.0)
                if problem:
                    return problem
                continue
            wide = got.dtype == np.float32
            eps = float(np.finfo(got.dtype).eps)
            tiny = float(np.finfo(got.dtype).tiny)
            if want64 is None:
                f = lambda *a, **k: twin.pick(self.torch(*a, **k))
                with torch.no_grad():
                    want64 = call_torch(f, widened(tree)) if dtype == torch.float32 else theirs
                    absolute = want64
                    if twin.scale == "absolute":
                        absolute = call_torch(f, absolutes(widened(tree)))
            reference = array(want64[i]).astype(np.float64)
            n = max(1.0, elements(tree) / max(1, got.size))
            with np.errstate(all="ignore"):
                scale = np.maximum(np.abs(reference), np.abs(array(absolute[i]).astype(np.float64)))
                if twin.scale == "largest":
                    scale = max(
                        largest([reference]),
                        largest(
                            [
                                array(v).astype(np.float64)
                                for v in (tree["input"],)
                                if isinstance(v, torch.Tensor) and v.dtype.is_floating_point
                            ]
                        ),
                    )
                bound = twin.ulps * (1 if wide else 2 * twin.rough) * eps * math.sqrt(n) * scale + twin.ulps * tiny
                if wide:
                    bound = np.fmax(bound, 4 * np.abs(want.astype(np.float64) - reference))
                bound = np.where(np.isfinite(bound), bound, 0.0)
            # Beyond the dtype's range torch's own result, infinite, is the wanted one.
            beyond = ~np.isfinite(want)
            problem = worst(got, np.where(beyond, want.astype(np.float64), reference), bound)
            if problem:
                return problem
        return None

    def gradients(self, tree, leaves, ours, theirs):
        count = self.count
        pairs = [(x, t) for x, t in zip(ours, theirs) if t.requires_grad]
        if not pairs:
            return []
        if not self.has_gradient:
            count.without["no gradient in Oarlock"] += 1
            return []
        for x, _ in pairs:
            if not x.requires_grad:
                count.gradients[1] += 1
                return ["gradient: the result records none"]
        their_leaves = {}

        def gather(t, path):
            if path in leaves:
                their_leaves[path] = t
            return t

        everywhere(tree, gather)
        names = list(leaves)
        generator = torch.Generator().manual_seed(1)
        cotangents = [torch.randn(t.shape, dtype=t.dtype, generator=generator) for _, t in pairs]
        first = torch.autograd.grad(
            [t for _, t in pairs], [their_leaves[n] for n in names], cotangents, create_graph=True, allow_unused=True
        )
        count.gradients[1] += 1
        try:
            mine = o.autograd.grad(
                [x for x, _ in pairs],
                [leaves[n] for n in names],
                [ours_of(c) for c in cotangents],
                create_graph=True,
                allow_unused=True,
            )
        except Exception as error:
            return [f"gradient: raised {type(error).__name__}: {error}"]
        problem = self.derivatives(names, mine, first, their_leaves, [array(c) for c in cotangents], GRADIENT_ULPS)
        if problem:
            return ["gradient: " + problem]
        count.gradients[0] += 1
        if not self.twin.second:
            return []

        again = [(m, t) for m, t in zip(mine, first) if t is not None and t.requires_grad and m is not None]
        if not again:
            return []
        cotangents = [torch.randn(t.shape, dtype=t.dtype, generator=generator) for _, t in again]
        try:
            second = torch.autograd.grad(
                [t for _, t in again], [their_leaves[n] for n in names], cotangents, allow_unused=True
            )
        except (RuntimeError, NotImplementedError):
            count.without["torch gives no second derivative"] += 1
            return []
        count.second[1] += 1
        mine_again = [(m, c) for (m, _), c in zip(again, cotangents) if m.requires_grad]
        try:
            second_mine = (
                o.autograd.grad(
                    [m for m, _ in mine_again],
                    [leaves[n] for n in names],
                    [ours_of(c) for _, c in mine_again],
                    allow_unused=True,
                )
                if mine_again
                else [None] * len(names)
            )
        except Exception as error:
            return [f"second order: raised {type(error).__name__}: {error}"]
        scale = [array(t) for t in first if t is not None] + [array(c) for c in cotangents]
        problem = self.derivatives(names, second_mine, second, their_leaves, scale, SECOND_ULPS)
        if problem:
            return ["second order: " + problem]
        count.second[0] += 1
        return []

    def derivatives(self, names, mine, theirs, leaves, also, ulps):
        wants = [np.zeros(tuple(leaves[n].shape)) if t is None else array(t) for n, t in zip(names, theirs)]
        scale = largest(wants + also)
        for name, m, want in zip(names, mine, wants):
            got = np.zeros(want.shape) if m is None else array(m)
            n = max(1, sum(leaves[k].numel() for k in names))
            problem = worst(
                got, want, ulps * self.twin.rough * np.finfo(np.float64).eps * math.sqrt(n) * max(scale, 1.0)
            )
            if problem:
                return f"{name}: {problem}"
        return None

    # -- error inputs

    def error_inputs(self):
        count = self.count
        torch.manual_seed(0)
        for error in self.info.error_inputs("cpu"):
            tree = parts(error.sample_input)
            message = str(error.error_regex)
            count.samples += 1
            try:
                out = self.call_ours(tree, None)
                for x in out:
                    array(x)
            except Excluded as why:
                count.excluded[why.reason] += 1
                continue
            except (o.Error, TypeError, ValueError, IndexError, OverflowError) as raised:
                count.errors[1] += 1
                if str(raised):
                    count.errors[0] += 1
                    count.passed += 1
                else:
                    count.failures.append(f"an error without a message, {type(raised).__name__}; for {describe(tree)}")
                continue
            except Exception as raised:
                count.errors[1] += 1
                count.failures.append(f"error input: {type(raised).__name__}: {raised}; for {describe(tree)}")
                continue
            accepted = {**self.twin.accepts, **ACCEPTED}
            why = next((reason for part, reason in accepted.items() if part in message), None)
            if message in ("", ".*") or why is None:
                if not message and any(isinstance(v, (int, float)) for v in (tree["input"], *tree["args"])):
                    why = "a number for a tensor"
            if why is None:
                count.errors[1] += 1
                count.failures.append(f"error input: torch says {message!r}, ours gave a result; for {describe(tree)}")
            else:
                count.excluded["accepts"] += 1
                count.notes.add("accepts: " + why)

    # -- cases outside torch

    def run_cases(self):
        for number, (got, want, ulps) in enumerate(self.twin.cases()):
            self.count.samples += 1
            self.count.values[1] += 1
            got, want = array(got) if not isinstance(got, np.ndarray) else got, np.asarray(want)
            bound = ulps * float(np.finfo(got.dtype).eps) * np.abs(want.astype(np.float64)) if ulps else 0.0
            problem = worst(got, want, bound)
            if problem is None and got.dtype != want.dtype:
                problem = f"dtype {got.dtype}, wanted {want.dtype}"
            if problem:
                self.count.failures.append(f"case {number}: {problem}")
            else:
                self.count.values[0] += 1
                self.count.passed += 1
        return self.count
