"""The folder is the registry: an op added as one new file is everywhere after `ci/dev gen`, and a kernel added as one
new file in one backend is chosen. Both are done in a copy of the tree, in one build, with no other hand edit.
"""

import json
import os
import shutil
import subprocess

import pytest
import tree

OP = r"""#include "core/op/opdef.h"
namespace oarlock::op::planted_cube_ {
static GradientRule gradient;
static ReferenceKernel reference;

extern constinit const OpDef def = define({
    .name = "planted_cube",
    .summary = "x * x * x.",
    .source = "closed form",
    .inputs = {{"x", "[...]"}},
    .outputs = {{"out", "[...]"}},
    .types = {{"T", kFloat}},
    .gradient = gradient,
    .saves = {{"x"}},
    .reference = reference,
    .cases = {{"signs", "...=4", "", "x: -2 -1 0 3"}},
});
}  // namespace oarlock::op::planted_cube_

#include "rules.h"
#include "elementwise.h"
namespace oarlock::op::planted_cube_ {
static void gradient(GradientCall& c) {
  const Tensor x = c.in(0);
  c.set(0, multiply(c.dout(0), multiply(number(3, x), multiply(x, x))));
}
static void reference(KernelCall& c) {
  unary_reference(c, [](double x) { return x * x * x; });
}
}  // namespace oarlock::op::planted_cube_
"""

# Answers 1000 more than the op says, so that a result tells who computed it.
KERNEL = r"""#include "kit.h"
#include "kit_list.h"

static oar_status_t run(oar_pack_t*, const oar_kernel_decl_t*, const oar_frame_t* frame) {
  const oar_view_t& in = *frame->inputs[0];
  const oar_view_t& out = *frame->outputs[0];
  int64_t n = 1;
  for (int i = 0; i < out.n_dims; ++i) n *= out.shape[i];
  const float* x = static_cast<const float*>(in.data);
  for (int64_t i = 0; i < n; ++i) static_cast<float*>(out.data)[i] = x[i] * x[i] * x[i] + 1000;
  return OAR_OK;
}
static oar_status_t check(oar_pack_t*, const oar_kernel_decl_t*, const oar_call_t* call, oar_verdict_t* out_verdict) {
  if (oar_kit_value_contiguous(call->inputs[0]) && oar_kit_value_contiguous(call->outputs[0])) return OAR_OK;
  return oar_kit_refuse(out_verdict, OAR_REASON_LAYOUT, 0, "x must be contiguous");
}
static const uint64_t masks[] = {OAR_BIT(OAR_DTYPE_F32)};
static const oar_kernel_decl_t cube = [] {
  oar_kernel_decl_t decl = {};
  decl.struct_size = sizeof(decl);
  decl.op = OAR_STR("planted_cube");
  decl.op_min = decl.op_max = 1;
  decl.n_masks = 1;
  decl.dtypes = masks;
  decl.check = check;
  decl.run = run;
  return decl;
}();
OAR_KIT_LISTED(cube);
"""

CPP_PROGRAM = r"""
#include <cstdio>
#include <oarlock/base/ops.h>

int main() {
  const auto y = oarlock::planted_cube(oarlock::Tensor::of<float>({-2, 3}, {2}));
  std::printf("%g %g\n", y.data_as<float>()[0], y.data_as<float>()[1]);
}
"""

# Only has to compile and link: bindings/c/matmul.c shows how C makes tensors.
C_PROGRAM = r"""
#include <oarlock/app.h>

int main(void) {
  oar_tensor_t* out = NULL;
  return oar_planted_cube(NULL, &out) == OAR_OK; /* no operand: an error, no crash */
}
"""


def run(*command, **options):
    done = subprocess.run([str(c) for c in command], capture_output=True, text=True, **options)
    assert done.returncode == 0, f"{' '.join(str(c) for c in command)}\n{done.stdout[-6000:]}\n{done.stderr[-6000:]}"
    return done.stdout


class Grown:
    """A copy of the tree with the op and the kernel added, generated and built."""

    def __init__(self, repo, root):
        self.root, self.build = root, root / "build"
        for path in tree.files(repo):
            (root / path).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(repo / path, root / path)
        (root / "ops/math/planted_cube.cc").write_text(OP)
        (root / "backends/simd/planted_cube.cc").write_text(KERNEL)
        self.generated = run(root / "ci/dev", "gen", cwd=root)
        environment = {**os.environ, "CCACHE_BASEDIR": str(root), "CCACHE_NOHASHDIR": "1"}
        run("cmake", "--preset", "release", "-DOARLOCK_TESTS=OFF", "-DOARLOCK_EXAMPLES=OFF", cwd=root, env=environment)
        run("cmake", "--build", self.build, "--target", "oarlock_cli", "oarlock_simd", cwd=root, env=environment)

    def oarlock(self, *arguments, backends=None):
        environment = {**os.environ, "OARLOCK_BACKENDS": str(self.build / "lib/oarlock/backends" if backends is None else backends)}
        return run(self.build / "bin/oarlock", *arguments, env=environment)

    def program(self, name, text, *compiler):
        source = self.root / "build" / name
        source.write_text(text)
        program = source.with_suffix("")
        run(*compiler, "-Wall", "-Wextra", "-Werror", f"-I{self.root}/api/abi", f"-I{self.root}/api/include", "-o", program, source,
            f"-L{self.build}/lib", "-loarlock", f"-Wl,-rpath,{self.build}/lib")
        return program


@pytest.fixture(scope="module")
def grown(repo, tmp_path_factory):
    return Grown(repo, tmp_path_factory.mktemp("grown"))


def test_gen_writes_and_then_finds_no_drift(grown):
    for name in ["api/include/oarlock/base/ops.h", "ops/table.gen.cc", "api/abi/oarlock/ops.h", "api/docs/operators.gen.md"]:
        assert f"wrote {name}" in grown.generated
        assert "planted_cube" in (grown.root / name).read_text()
    run(grown.root / "ci/dev", "gen", "--check", cwd=grown.root)


def test_the_op_is_listed(grown):
    op = next(op for op in json.loads(grown.oarlock("ops", "--json")) if op["name"] == "planted_cube")
    assert op["version"] == 1 and op["kind"] == "primitive" and op["gradient"] == "rule" and op["cases"] == 1
    assert list(op["kernels"]) == ["simd"]


def test_the_op_runs_from_cpp_by_its_reference(grown):
    program = grown.program("cube_cpp.cc", CPP_PROGRAM, "g++", "-std=c++20")
    assert run(program, env={**os.environ, "OARLOCK_BACKENDS": ""}) == "-8 27\n"


def test_the_op_is_declared_for_c(grown):
    run(grown.program("cube_c.c", C_PROGRAM, "gcc", "-std=c11"))


def test_the_kernel_is_chosen(grown):
    program = grown.program("cube_cpp.cc", CPP_PROGRAM, "g++", "-std=c++20")
    environment = {**os.environ, "OARLOCK_BACKENDS": str(grown.build / "lib/oarlock/backends")}
    assert run(program, env=environment) == "992 1027\n"
    shown = json.loads(grown.oarlock("explain", "planted_cube", "f32[4]", "--json"))
    assert [c["plugin"] for c in shown["candidates"] if c["chosen"]] == ["simd"]


def test_the_kit_tests_the_op(grown):
    def kit(plugin):
        done = subprocess.run([grown.build / "bin/oarlock", "cts", plugin, "--level", "L2", "--ops", "planted_cube", "--json"],
                              capture_output=True, text=True)
        return done.returncode, {row["name"]: row["outcome"] for row in json.loads(done.stdout)["tests"]}

    code, reference = kit("host")
    assert code == 0 and "passed" in reference.values() and all("planted_cube" in name for name in reference)
    code, kernel = kit(grown.build / "lib/oarlock/backends/liboarlock_simd.so")
    assert code != 0 and "failed" in kernel.values(), "a kernel that answers 1000 more passed"
