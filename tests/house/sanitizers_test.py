"""Each sanitizer preset reports a planted fault, and stays silent on the same program without it. The programs are
built with the preset's compilers and cmake/flags.cmake, and run in the preset's test environment."""

import shutil
import subprocess

import presets
import pytest

if shutil.which("clang++-14") is None:
    pytest.fail("clang++-14 is missing; run ci/dev setup", pytrace=False)


@pytest.fixture(scope="module")
def build(repo, tmp_path_factory):
    """build(preset) -> folder of the built programs."""
    built = {}

    def once(preset):
        if preset not in built:
            folder = tmp_path_factory.mktemp(preset)
            cache = [f"-D{key}={value}" for key, value in presets.cache_variables(preset).items()]
            subprocess.run(["cmake", "-G", "Ninja", "-S", repo / "tests/house/faults", "-B", folder,
                            f"-DOARLOCK_SOURCE_DIR={repo}", "--no-warn-unused-cli", *cache],
                           check=True, stdout=subprocess.DEVNULL)
            subprocess.run(["cmake", "--build", folder], check=True, stdout=subprocess.DEVNULL)
            built[preset] = folder
        return built[preset]

    return once


@pytest.mark.parametrize("preset, program, fault, report", [
    ("asan", "heap_overflow", "4", "AddressSanitizer: heap-buffer-overflow"),
    ("asan", "signed_overflow", "2", "runtime error: signed integer overflow"),
    ("tsan", "data_race", "1", "ThreadSanitizer: data race"),
    ("tsan", "openmp_race", "1", "ThreadSanitizer: data race"),
])
def test_sanitizer_reports(build, preset, program, fault, report):
    def run(argument):
        return subprocess.run([build(preset) / program, argument], env=presets.environment(preset),
                              capture_output=True, text=True, timeout=60)

    sound = run("0")
    assert sound.returncode == 0 and sound.stderr == ""
    broken = run(fault)
    assert broken.returncode != 0
    assert report in broken.stderr
