"""The op generator: one new file is enough, drift is seen, and mistakes stop it with a sentence."""

import pathlib
import shutil
import subprocess
import sys

import pytest

ROOT = pathlib.Path(__file__).resolve().parents[2]
OP = """#include "core/op/opdef.h"
namespace oarlock::op::planted_ {
static GradientRule gradient;
static ReferenceKernel reference;

extern constinit const OpDef def = define({
    .name = "planted",
    .summary = "Everything a signature may hold.",
    .source = "Oarlock",
    .inputs = {{"x", "[N, *S]"}, {"weight", "[N]", optional}, {"more", "[*_]", variadic}},
    .outputs = {{"values", "[k, *S]"}, {"places", "i64[k]"}, {"kept", "[N]", hidden}},
    .types = {{"T", kFloat}},
    .attributes = {dim("k"), choice("mode", "nearest|linear"), real("epsilon", 1e-5), integers("stride", 1),
                   real("scale").or_none(), flag("sorted", true), dtype("dtype", DType::bf16)},
    .gradient = gradient,
    .saves = {{"x"}},
    .reference = reference,
    .cases = {{"one", "N=2 S=3", "k=1"}},
});
}  // namespace oarlock::op::planted_

#include "rules.h"
this half is not compiled by the generator
"""


@pytest.fixture
def tree(tmp_path):
    for name in ("ops", "core/op", "api/gen/ops", "api/abi", "api/include"):
        shutil.copytree(ROOT / name, tmp_path / name, ignore=shutil.ignore_patterns("__pycache__"))
    return tmp_path


def generate(tree, *arguments):
    return subprocess.run([sys.executable, tree / "api/gen/ops/generate.py", *arguments], capture_output=True, text=True)


def test_starts_from_nothing_and_repeats_itself(tree):
    for name in ("api/include/oarlock/base/ops.h", "api/abi/oarlock/ops.h", "ops/ids.gen.h", "ops/table.gen.cc"):
        (tree / name).unlink()
    assert generate(tree).returncode == 0
    for name in ("api/include/oarlock/base/ops.h", "api/abi/oarlock/ops.h", "ops/ids.gen.h", "ops/table.gen.cc"):
        assert (tree / name).read_text() == (ROOT / name).read_text(), name
    assert generate(tree, "--check").returncode == 0


def test_one_new_file_is_in_every_language(tree):
    (tree / "ops/nn/planted.cc").write_text(OP)
    drift = generate(tree, "--check")
    assert drift.returncode == 1
    assert "ops/table.gen.cc: differs" in drift.stderr
    assert "planted" not in (tree / "ops/table.gen.cc").read_text()
    done = generate(tree)
    assert done.returncode == 0, done.stderr
    cpp = " ".join((tree / "api/include/oarlock/base/ops.h").read_text().split())
    assert "struct PlantedResult { Tensor values, places; };" in cpp
    assert ('PlantedResult planted(const Tensor& x, Tensors more, Dim k, const Tensor& weight = {}, '
            'std::string_view mode = "nearest", double epsilon = 1e-05, Integers stride = {}, std::optional<double> scale = {}, '
            'bool sorted = true, DType dtype = DType::bf16);') in cpp
    c = " ".join((tree / "api/abi/oarlock/ops.h").read_text().split())
    assert ("oar_planted(oar_tensor_t* x, oar_tensor_t* const* more, size_t n_more, int64_t k, oar_tensor_t* weight, "
            "const oar_planted_options_t* options, oar_tensor_t** out_values, oar_tensor_t** out_places);") in c
    assert ('#define OAR_PLANTED_OPTIONS_INIT { sizeof(oar_planted_options_t), OAR_STR("nearest"), 1e-05, NULL, 0, 0, 0, 1, '
            'OAR_DTYPE_BF16 }') in c
    assert "&planted_::def" in (tree / "ops/table.gen.cc").read_text()
    assert "### planted" in (tree / "api/docs/operators.gen.md").read_text()
    assert generate(tree, "--check").returncode == 0
    header = tree / "options.c"   # the C header is C, and its initialisers fit
    header.write_text("#include <oarlock/ops.h>\noar_planted_options_t options = OAR_PLANTED_OPTIONS_INIT;\n")
    subprocess.run(["gcc", "-std=c11", "-Wall", "-Wextra", "-Werror", f"-I{tree / 'api/abi'}", "-c", header, "-o", "/dev/null"],
                   check=True)


@pytest.mark.parametrize("before, after, says", [
    ('"[k, *S]"', '"[M, *S]"', "an output has a dimension that no required input or attribute gives: write .infer"),
    ('.name = "planted"', '.name = "planter"', "its op is called planter; file and op have one name"),
    ('#include "rules.h"', "", "between its data and its rules"),
    ('.summary = "Everything a signature may hold.",', "", "op needs .name, .summary, .source and .cases"),
])
def test_mistakes_stop_it(tree, before, after, says):
    assert before in OP
    (tree / "ops/nn/planted.cc").write_text(OP.replace(before, after))
    result = generate(tree)
    assert result.returncode != 0
    assert says in result.stderr
