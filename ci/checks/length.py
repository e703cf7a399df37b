"""A file past 600 lines says in its first paragraph why it stays whole."""

import re

from tree import CODE_SUFFIXES, files, is_generated

LIMIT = 600
_REASON = re.compile(r"\b(whole|one file|one place|in one piece|single file|together)\b", re.IGNORECASE)
_COMMENT_LINE = re.compile(r"^\s*(//|/?\*+|#(?!\s*(include|ifndef|define|pragma))|\"\"\")")


def first_paragraph(text):
    """The comment or docstring that a file opens with, up to its first empty line."""
    lines, in_block = [], False
    for line in text.splitlines():
        if line.startswith("#!"):
            continue
        opens_docstring = line.lstrip().startswith('"""')
        if in_block or _COMMENT_LINE.match(line):
            if line.strip(" */#") == "" and lines:
                break
            lines.append(line)
            if line.lstrip().startswith("/*") or opens_docstring:
                in_block = True
            closing = line.rstrip().endswith("*/") or (line.rstrip().endswith('"""') and
                                                       (not opens_docstring or line.count('"""') == 2))
            if closing:
                break
        elif line.strip() and not line.lstrip().startswith("#"):
            break
        elif lines:
            break
    return "\n".join(lines)


def check(root):
    violations = []
    for path in files(root, CODE_SUFFIXES):
        text = (root / path).read_text(errors="replace")
        lines = text.count("\n")
        if lines > LIMIT and not is_generated(text) and not _REASON.search(first_paragraph(text)):
            violations.append(f"{path}: {lines} lines; past {LIMIT} the first paragraph says why the file stays whole")
    return violations
