"""C and C++ are formatted as .clang-format says. ci/dev fmt mends it."""

from commands.fmt import unformatted


def check(root):
    return [f"{path}: not formatted; run ci/dev fmt" for path in unformatted(root)]
