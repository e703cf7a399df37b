"""Whether two arrays agree within a bound, and where they don't."""

import numpy as np


def worst(got, want, bound):
    """None, or which element is too far off."""
    if got.shape != want.shape:
        return f"shape {list(got.shape)}, wanted {list(want.shape)}"
    with np.errstate(all="ignore"):
        same = (got == want) | ((got != got) & (want != want))
        off = np.abs(got.astype(np.float64) - want.astype(np.float64))
        bad = ~(same | (off <= bound))
    if not bad.any():
        return None
    at = tuple(int(i) for i in np.unravel_index(np.argmax(bad), bad.shape))
    b = np.broadcast_to(bound, got.shape)[at] if not np.isscalar(bound) else bound
    return f"{int(bad.sum())} of {bad.size} off, first at {list(at)}: {got[at]!r}, wanted {want[at]!r}, bound {b:.3g}"


def largest(arrays):
    finite = [np.abs(a[np.isfinite(a)]).max() for a in arrays if a.size and np.isfinite(a).any()]
    return float(max(finite, default=0.0))
