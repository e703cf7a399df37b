"""Image sets and transforms of images.

    >>> flip = oarlock.vision.RandomHorizontalFlip(1.0)
    >>> flip(oarlock.arange(6).reshape((1, 2, 3))).tolist()
    [[[2, 1, 0], [5, 4, 3]]]
    >>> to_unit = oarlock.vision.Compose([oarlock.vision.ToFloat(), oarlock.vision.Normalize(0.5, 0.5)])
    >>> to_unit(oarlock.asarray([[0, 255]], dtype="uint8")).tolist()
    [[-1.0, 1.0]]
"""

from . import _core
from ._core._vision import (MNIST, CenterCrop, Compose, FashionMNIST, Normalize, RandomCrop, RandomErasing,
                            RandomHorizontalFlip, RandomVerticalFlip, ToFloat, Transform)

__all__ = ["CenterCrop", "Compose", "FashionMNIST", "MNIST", "Normalize", "RandomCrop", "RandomErasing",
           "RandomHorizontalFlip", "RandomVerticalFlip", "ToFloat", "Transform"]

for _c in vars(_core._vision).values():
    if isinstance(_c, type):
        _c.__module__ = __name__
FashionMNIST.classes = tuple(FashionMNIST.class_name(i) for i in range(10))
FashionMNIST.__doc__ += """

Read from OARLOCK_FASHION_MNIST or where Debian's package dataset-fashion-mnist puts it. Sample i is the image,
uint8[1, 28, 28] or what the transform makes of it, and its label.

>>> oarlock.vision.FashionMNIST.classes[9]
'Ankle boot'
"""
