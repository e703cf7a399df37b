"""Every installed header compiles by itself: the C contract and the kit as C11 and as C++, the public C++ headers as
C++20, with GCC and Clang."""

import subprocess

import pytest

# Folder of the tree, and how a program spells what lies in it.
C_HEADERS = [("api/abi/oarlock", "oarlock/"), ("backends/kit", "")]
C_LANGUAGES = [["gcc", "-std=c11", "-x", "c"], ["clang-14", "-std=c11", "-x", "c"], ["g++", "-std=c++20", "-x", "c++"]]
CPP_LANGUAGES = [["g++", "-std=c++20", "-x", "c++"], ["clang++-14", "-std=c++20", "-x", "c++"]]


def compile_alone(repo, names, language):
    """Includes each header, twice, in a file of its own."""
    include = [f"-I{repo}/api/abi", f"-I{repo}/api/include", f"-I{repo}/backends/kit"]
    for name in names:
        text = f'#include "{name}"\n#include "{name}"\n'
        done = subprocess.run([*language, "-fsyntax-only", "-Wall", "-Wextra", "-Werror", *include, "-"], input=text,
                              capture_output=True, text=True)
        assert done.returncode == 0, f"{name} does not stand alone:\n{done.stderr}"


@pytest.mark.parametrize("language", C_LANGUAGES, ids=lambda language: language[0])
def test_c_headers(repo, language):
    names = [prefix + path.name for folder, prefix in C_HEADERS for path in sorted((repo / folder).glob("*.h"))]
    assert "oarlock/plugin.h" in names and "kit.h" in names
    compile_alone(repo, names, language)


@pytest.mark.parametrize("language", CPP_LANGUAGES, ids=lambda language: language[0])
def test_cpp_headers(repo, language):
    names = [str(path.relative_to(repo / "api/include")) for path in sorted((repo / "api/include").rglob("*.h"))] + ["kit.hpp"]
    assert "oarlock/base/tensor.h" in names
    compile_alone(repo, names, language)
