#!/usr/bin/env bash
# spirv.sh OUT: compiles every kernels/*.cl to SPIR-V, with f64 and without, and validates it. OUT gets NAME.spv and
# NAME.bc, the bitcode that the SPIR-V becomes again, for drivers that take that. Exit code 77: a tool is not installed.
# clang's own -O2 makes instructions that llvm-spirv 14 does not know, so its passes are left to the device's compiler.
set -euo pipefail
out=$1
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
for tool in clang-14 llvm-spirv-14 spirv-val; do
  if ! command -v "$tool" > /dev/null; then
    echo "spirv: skipped, $tool is not installed (Debian: clang-14 llvm-spirv-14 spirv-tools)"
    exit 77
  fi
done
mkdir -p "$out"
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
n=0
for file in "$here"/kernels/*.cl; do
  name=$(basename "$file" .cl)
  [ "$name" = operand ] && continue
  cat "$here/kernels/operand.cl" "$file" > "$work/$name.cl"
  for kind in "" _f64; do
    options=()
    [ -n "$kind" ] && options=(-D HAS_F64)
    clang-14 -cc1 -triple spir64-unknown-unknown -cl-std=CL1.2 -finclude-default-header -O2 -disable-llvm-passes \
      "${options[@]}" -Werror -emit-llvm-bc "$work/$name.cl" -o "$work/$name.bc"
    llvm-spirv-14 "$work/$name.bc" -o "$out/$name$kind.spv"
    spirv-val "$out/$name$kind.spv"
    n=$((n + 1))
  done
  llvm-spirv-14 -r "$out/${name}_f64.spv" -o "$out/${name}_f64.bc"
done
echo "spirv: $n modules are valid, in $out"
