"""Planted violations of the arrows: each must be named with file, line and rule; what the arrows allow must pass."""

import pytest
from checks import includes

TREE = {
    "api/abi/oarlock/types.h": "",
    "api/abi/oarlock/plugin.h": '#include "types.h"\n',
    "api/include/oarlock/base/tensor.h": "#include <oarlock/types.h>\n#include <vector>\n",
    "api/include/oarlock/base/ops.h": "#include <oarlock/base/tensor.h>\n",
    "api/include/oarlock/nn.h": "#include <oarlock/base/ops.h>\n",
    "api/src/nn/linear.cc": '#include <oarlock/nn.h>\n#include "core/op/opdef.h"\n#include "ops/rules.h"\n',
    "api/cli/main.cc": '#include <oarlock/base/tensor.h>\n#include "table.h"\n#include <CLI/CLI.hpp>\n#include "api/cts/cts.h"\n',
    "api/cli/table.h": "",
    "api/cts/cts.h": "",
    "api/cts/main.cc": "#include <oarlock/plugin.h>\n",
    "api/gen/ops/printer.cc": '#include "core/op/opdef.h"\n#include "ops/rules.h"\n',
    "core/op/opdef.h": "#include <oarlock/base/tensor.h>\n",
    "core/op/table.cc": '#include "opdef.h"\n#include "core/op/opdef.h"\n#include <oarlock/plugin.h>\n',
    "ops/rules.h": '#include "core/op/opdef.h"\n',
    "ops/math/add.cc": '#include "rules.h"\n#include "ops/rules.h"\n',
    "backends/kit/kit.h": "#include <oarlock/plugin.h>\n",
    "backends/null/null.c": '#include "kit.h"\n#include <oarlock/plugin.h>\n',
    "backends/onednn/onednn.cc": '#include <dnnl.hpp>\n#include "pack.h"\n#include "kit.h"\n',
    "backends/onednn/pack.h": "",
    "bindings/c/matmul.c": "#include <oarlock/types.h>\n",
    "examples/train.cc": "#include <oarlock/nn.h>\n",
    "tests/core/op/opdef_test.cc": '#include "core/op/opdef.h"\n#include "backends/null/null.c"\n#include <dnnl.h>\n',
    "tests/sim/sim.h": "",
}


@pytest.fixture
def tree(plant):
    for path, text in TREE.items():
        root = plant(path, text)
    return root


def test_what_the_arrows_allow_passes(tree):
    assert includes.check(tree) == []


@pytest.mark.parametrize("source, line, target", [
    ("api/abi/oarlock/bad.h", "#include <oarlock/base/tensor.h>", "api/include/oarlock/base/tensor.h"),
    ("api/include/oarlock/base/bad.h", '#include "core/op/opdef.h"', "core/op/opdef.h"),
    ("api/include/oarlock/base/bad.h", "#include <oarlock/nn.h>", "api/include/oarlock/nn.h"),
    ("api/include/oarlock/bad.h", '#include "core/op/opdef.h"', "core/op/opdef.h"),
    ("core/op/bad.cc", '#include "ops/rules.h"', "ops/rules.h"),
    ("core/op/bad.cc", "#include <oarlock/nn.h>", "api/include/oarlock/nn.h"),
    ("core/op/bad.cc", '#include "backends/kit/kit.h"', "backends/kit/kit.h"),
    ("core/op/bad.cc", '#include "../../ops/rules.h"', "ops/rules.h"),
    ("ops/math/bad.cc", "#include <oarlock/nn.h>", "api/include/oarlock/nn.h"),
    ("ops/math/bad.cc", '#include "api/cli/table.h"', "api/cli/table.h"),
    ("api/src/nn/bad.cc", '#include "backends/onednn/pack.h"', "backends/onednn/pack.h"),
    ("backends/kit/bad.h", "#include <oarlock/base/tensor.h>", "api/include/oarlock/base/tensor.h"),
    ("backends/null/bad.c", '#include "../onednn/pack.h"', "backends/onednn/pack.h"),
    ("backends/null/bad.c", '#include "core/op/opdef.h"', "core/op/opdef.h"),
    ("backends/null/bad.c", '#include "core/op/not_there.h"', "core/op/not_there.h"),
    ("backends/null/bad.c", "#include <oarlock/base/not_there.h>", "api/include/oarlock/base/not_there.h"),
    ("bindings/c/bad.c", '#include "core/op/opdef.h"', "core/op/opdef.h"),
    ("bindings/c/bad.c", '#include "kit.h"', "backends/kit/kit.h"),
    ("examples/bad.cc", '#include "ops/rules.h"', "ops/rules.h"),
    ("api/cli/bad.cc", '#  include "core/op/opdef.h"', "core/op/opdef.h"),
    ("api/cts/bad.cc", '#include "../cli/table.h"', "api/cli/table.h"),
    ("api/cts/bad.cc", '#include "tests/sim/sim.h"', "tests/sim/sim.h"),
    ("core/op/bad.cc", '#include "tests/sim/sim.h"', "tests/sim/sim.h"),
    ("tests/core/bad_test.cc", '#include "ci/anything.h"', "ci/anything.h"),
])
def test_each_forbidden_arrow_is_named(tree, plant, source, line, target):
    plant(source, f"// A planted fault.\n\n{line}\n")
    violations = includes.check(tree)
    assert len(violations) == 1
    assert violations[0].startswith(f"{source}:3: includes {target}; ")
    assert "may include" in violations[0]


def test_a_vendors_header_outside_backends(tree, plant):
    plant("core/op/bad.cc", "#include <vector>\n#include <dnnl.hpp>\n")
    assert includes.check(tree) == ["core/op/bad.cc:2: includes dnnl.hpp; only backends (and tests) name a vendor's header"]


def test_a_macro_hides_its_target(tree, plant):
    plant("core/op/bad.cc", '#define HEADER "ops/rules.h"\n#include HEADER\n')
    (violation,) = includes.check(tree)
    assert violation.startswith("core/op/bad.cc:2: includes the macro HEADER")


def test_comments_are_no_includes(tree, plant):
    plant("core/op/good.cc", '// #include "ops/rules.h"\n/*\n#include "ops/rules.h"\n*/\n/**/ // "x\n')
    assert includes.check(tree) == []


def test_a_line_number_survives_comments(tree, plant):
    plant("core/op/bad.cc", '/* one\n two */\n#include "ops/rules.h"  // why\n')
    (violation,) = includes.check(tree)
    assert violation.startswith("core/op/bad.cc:3:")


def test_a_folder_outside_the_house(tree, plant):
    plant("extra/thing.cc", "")
    assert includes.check(tree) == ["extra/thing.cc:1: stands outside the folders of the architecture"]


def test_this_tree(repo):
    assert includes.check(repo) == []
