"""Settings, traces, profiles and plugins from Python."""

import os

from . import _core

_entry_points_seen = False


def setting(name):
    """The text of a setting's value.

    >>> oarlock.setting("fallback")
    'warn'
    """
    for s in _core.settings():
        if s.name == name:
            return s.value
    raise ValueError(f"setting: there is no setting '{name}'. There are {', '.join(s.name for s in _core.settings())}.")


def set_setting(name, value):
    """Sets a setting for calls that begin afterwards; True and False are '1' and '0'."""
    _core.set_setting_text(name, ("1" if value else "0") if isinstance(value, bool) else str(value))


class Placement(list):
    """PlacementRow after PlacementRow; str() of it is a table."""

    def __str__(self):
        return _core.placement_text(self)


def placement():
    """What ran where since reset_placement(), the longest time first: a Placement, which prints as a table.

    Calls are always counted; times only while the setting `placement` is on, which waits for the device after every op.

    >>> oarlock.reset_placement()
    >>> oarlock.ones((2, 2)).matmul(oarlock.ones((2, 2))).device
    Device('cpu')
    >>> [row.calls for row in oarlock.placement() if row.op == "matmul"]
    [1]
    """
    return Placement(_core.placement_rows())


class trace:
    """While inside, every call tells its stops on standard error, as OARLOCK_TRACE=1 does."""

    def __enter__(self):
        self._before = setting("trace")
        set_setting("trace", "1")
        return self

    def __exit__(self, *error):
        set_setting("trace", self._before)
        return False


class profile:
    """Writes what ran inside, and when, to a file that chrome://tracing and Perfetto open."""

    def __init__(self, path):
        self._path = os.fspath(path)

    def __enter__(self):
        _core.profile_start()
        return self

    def __exit__(self, *error):
        _core.profile_stop(self._path)
        return False


def _any_names_the_group():
    """A look at the files alone: importlib.metadata takes longer to import than all of this package."""
    import sys
    for folder in sys.path:
        try:
            names = os.listdir(folder or ".")
        except OSError:
            continue
        for name in names:
            if name.endswith((".dist-info", ".egg-info")):
                try:
                    with open(os.path.join(folder, name, "entry_points.txt"), encoding="utf-8") as file:
                        if "[oarlock.backends]" in file.read():
                            return True
                except OSError:
                    pass
    return False


def _load_entry_points():
    """Plugins that installed packages name in the group oarlock.backends: each entry point is the absolute path of a shared
    library or of a folder of them, or a function that gives it."""
    global _entry_points_seen
    if _entry_points_seen:
        return
    _entry_points_seen = True
    if "OARLOCK_BACKENDS" in os.environ:  # replaces all other places
        return
    if not _any_names_the_group():
        return
    from importlib.metadata import entry_points
    try:
        found = entry_points(group="oarlock.backends")
    except TypeError:  # Python 3.9
        found = entry_points().get("oarlock.backends", ())
    import glob
    import warnings
    for point in found:
        try:
            place = point.load()
            place = os.fspath(place() if callable(place) else place)
            for path in sorted(glob.glob(os.path.join(place, "*.so"))) if os.path.isdir(place) else [place]:
                _core.load_plugin(path)
        except Exception as error:
            warnings.warn(f"plugins: the entry point {point.name} = {point.value} was not loaded: {error}", RuntimeWarning,
                          stacklevel=3)


def plugins():
    """Every plugin that was found, those of the entry points oarlock.backends included; loaded, or why not."""
    return _core.found_plugins()
