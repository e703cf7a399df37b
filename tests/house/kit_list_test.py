"""kit_list.h: the linker gathers what source files list, in C and C++, with GCC and Clang; an empty list is empty."""

import ctypes
import subprocess

import pytest

LISTS_TWO = """#include "kit_list.h"
static const oar_kernel_decl_t first = {.struct_size = sizeof(first), .priority = 1};
static const oar_kernel_decl_t second = {.struct_size = sizeof(second), .priority = 2};
OAR_KIT_LISTED(first);
OAR_KIT_LISTED(second);
"""
LISTS_ONE = LISTS_TWO.replace("OAR_KIT_LISTED(second);", "").replace("first", "third")
COUNTS = """#include "kit_list.h"
OAR_EXPORT oar_status_t OAR_CALL oar_plugin_query(const oar_host_t* host, const oar_plugin_t** out_plugin) {
  uint32_t n;
  int sum = 0;
  (void)host, (void)out_plugin;
  const oar_kernel_decl_t* const* decls = oar_kit_listed(&n);
  for (uint32_t i = 0; i < n; ++i) sum += decls[i]->struct_size == sizeof(oar_kernel_decl_t);
  return sum;
}
"""


@pytest.mark.parametrize("c, cpp", [("gcc", "g++"), ("clang-14", "clang++-14")])
@pytest.mark.parametrize("level", ["-O0", "-O2"])
def test_lists(repo, tmp_path, c, cpp, level):
    def compile(name, text, compiler):
        (tmp_path / name).write_text(text)
        subprocess.run([*compiler, level, "-w", "-fPIC", "-fvisibility=hidden", f"-I{repo}/api/abi", f"-I{repo}/backends/kit", "-c",
                        name, "-o", f"{name}.o"], cwd=tmp_path, check=True)
        return f"{name}.o"

    parts = [compile("two.c", LISTS_TWO, [c, "-std=c11"]), compile("one.cc", LISTS_ONE, [cpp, "-std=c++20"])]
    counts = compile("counts.c", COUNTS, [c, "-std=c11"])

    def count(name, objects):
        subprocess.run([c, "-shared", *objects, "-o", name, f"-Wl,--version-script={repo}/backends/kit/plugin.map"],
                       cwd=tmp_path, check=True)
        return ctypes.CDLL(str(tmp_path / name)).oar_plugin_query(None, None)

    assert count("three.so", [*parts, counts]) == 3
    assert count("none.so", [counts]) == 0
