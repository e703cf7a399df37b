"""Running saved programs: one Predictor, any number of threads and shapes, bounded memory. Names are paddle.inference's.

    >>> import os, tempfile
    >>> path = os.path.join(tempfile.mkdtemp(), "net")
    >>> oarlock.jit.save(oarlock.nn.Linear(4, 2), path, [oarlock.jit.InputSpec(["N", 4], name="x")])
    >>> predictor = create_predictor(Config(path).set_device("cpu"))
    >>> predictor.get_input_names(), predictor.get_output_names()
    (['x'], ['out0'])
    >>> [y.shape for y in predictor.run([oarlock.zeros((3, 4))])]
    [(3, 2)]
"""

from . import _core
from ._core._inference import Config, ExportedProgram, InputHandle, OutputHandle, Predictor

__all__ = ["Config", "ExportedProgram", "InputHandle", "OutputHandle", "Predictor", "create_predictor"]

for _c in (Config, InputHandle, OutputHandle, Predictor):
    _c.__module__ = __name__


def create_predictor(config):
    """A predictor of what config says. Raises what jit.load raises, and ValueError for a pass that does not exist."""
    return Predictor(config)

