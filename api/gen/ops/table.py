"""ops/table.gen.cc and ops/ids.gen.h: the op table and the places of its rows."""

from signature import NOTE


def source(ops):
    lines = [f"// {NOTE}", '#include "core/op/table.h"', "", "namespace oarlock::op {"]
    lines += [f"namespace {op['name']}_ {{ extern const OpDef def; }}" for op in ops]
    lines += ["", "std::span<const OpDef* const> builtin_ops() {", "  static constexpr const OpDef* kOps[] = {"]
    lines += [f"      &{op['name']}_::def," for op in ops]
    lines += ["      nullptr};", f"  return {{kOps, {len(ops)}}};", "}", "", "}  // namespace oarlock::op", ""]
    return "\n".join(lines)


def ids(ops):
    lines = [f"// {NOTE}", "#pragma once", '#include "core/op/table.h"', "",
             "// Valid in this build only: files and plugins use names.", "namespace oarlock::op::id {"]
    lines += [f"inline constexpr OpId {op['name']} = {i};" for i, op in enumerate(ops)]
    lines += ["}  // namespace oarlock::op::id", ""]
    return "\n".join(lines)
