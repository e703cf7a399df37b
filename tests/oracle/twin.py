"""What a twin is: an op of Oarlock, the function of torch or NumPy that should give the same, and how to call ours with
that function's arguments.

An adapter takes the arguments of torch's function, with our tensors in place of torch's, and calls our op. What it cannot
say it excludes with a reason from REASONS; nothing is left out in silence.
"""

from dataclasses import dataclass, field
from typing import Any, Callable, Optional

from reasons import REASONS


class Excluded(Exception):
    def __init__(self, reason, detail=""):
        assert reason in REASONS, reason
        super().__init__(reason)
        self.reason = reason
        self.detail = detail


@dataclass
class Twin:
    op: str
    name: str  # what stands in the table: an OpInfo's name, or the function
    call: Callable[..., Any]  # ours, with torch's arguments
    info: Optional[tuple] = None  # (name, variant) in op_db
    torch: Optional[Callable[..., Any]] = None  # in place of the OpInfo's function
    samples: Optional[Callable[..., Any]] = None  # samples(dtype, requires_grad) in place of the OpInfo's
    cases: Optional[Callable[[], Any]] = None  # for twins outside torch: yields (ours, wanted, ulps)
    pick: Callable[[Any], Any] = lambda out: out  # of torch's results those that ours has
    # Rounding errors are bounded by ulps * eps * sqrt(elements read for one) * scale. scale: "want" is the element's size;
    # "absolute" what torch gives for the absolute inputs, which bounds cancellation in sums; "largest" the greatest element.
    scale: str = "want"
    ulps: float = 4
    exact: bool = False
    constant: tuple = ()  # operands of torch's call that get no gradient in Oarlock
    dtypes: Optional[tuple] = None  # else all that both have
    other_dtype: str = ""  # why the result's dtype differs
    accepts: dict = field(default_factory=dict)  # part of torch's error message -> why ours is no error
    gradient: bool = True
    second: bool = True
    note: str = ""
    special: bool = True  # elementwise: NaN, infinities, zeros and the limits too
    rough: float = 1  # torch's own f64 has this many times the error, as the note says
    nan: str = ""  # what Oarlock gives for NaN where torch differs: NaN is then no sample


TWINS = []


def twin(op, name, call, **more):
    """Adds a twin from op_db: name or "name/variant"."""
    info = tuple(name.split("/")) if "/" in name else (name, "")
    TWINS.append(Twin(op, name, call, info=info, **more))


def expression(op, name, call, torch, samples, **more):
    """Adds a twin that is an expression in torch, with samples of our own."""
    TWINS.append(Twin(op, name, call, torch=torch, samples=samples, **more))


def cases(op, name, generator, **more):
    """Adds a twin outside torch: generator yields (ours, wanted, ulps)."""
    TWINS.append(Twin(op, name, None, cases=generator, **more))
