from typing import Any, Callable, Generic, Sequence, TypeVar, overload

from typing_extensions import ParamSpec

from ._core import DType, Tensor
from .nn import Layer

P = ParamSpec("P")
R = TypeVar("R")
L = TypeVar("L", bound=Layer)

def capturing() -> bool: ...

class InputSpec:
    shape: tuple[int | str | None, ...]
    dtype: DType
    name: str | None
    def __init__(self, shape: Sequence[int | str | None], dtype: DType | str = "float32", name: str | None = None) -> None: ...
    @classmethod
    def from_tensor(cls, tensor: Tensor, name: str | None = None) -> InputSpec: ...

class StaticFunction(Generic[P, R]):
    enabled: bool
    def __init__(self, function: Callable[P, R], input_spec: Sequence[InputSpec] | None = None, name: str | None = None,
                 max_programs: int = 32, max_plans: int = 64) -> None: ...
    @property
    def function(self) -> Callable[P, R]: ...
    def __call__(self, *args: P.args, **keywords: P.kwargs) -> R: ...
    def __get__(self, instance: Any, owner: type | None = None) -> StaticFunction[..., R]: ...
    def programs(self) -> list[dict[str, Any]]: ...
    def clear(self) -> None: ...

@overload
def to_static(function: L, input_spec: Sequence[InputSpec] | None = None, *,  # type: ignore[overload-overlap]
              name: str | None = None,
              max_programs: int = 32, max_plans: int = 64) -> L: ...
@overload
def to_static(function: Callable[P, R], input_spec: Sequence[InputSpec] | None = None, *, name: str | None = None,
              max_programs: int = 32, max_plans: int = 64) -> StaticFunction[P, R]: ...
@overload
def to_static(function: None = None, input_spec: Sequence[InputSpec] | None = None, *, name: str | None = None,
              max_programs: int = 32, max_plans: int = 64) -> Callable[[Callable[P, R]], StaticFunction[P, R]]: ...

def trace(function: Callable[..., R], inputs: Sequence[Tensor], name: str | None = None) -> tuple[R, StaticFunction[..., R]]: ...
