"""api/docs/abi-tables.md mentions nothing of Oarlock's that the headers don't have, and leaves out no function."""
import re

import describe
import pytest

TABLES = describe.TABLES + list(describe.CALLED)


def struct_of(table):
    return describe.CALLED.get(table, f"oar_{table}_table_t")


def unknown(text, model):
    names, fields = model.names(), {f.name for s in model.structs.values() for f in s.fields}
    bad = []
    for word in re.findall(r"\b(?:oar_[a-z0-9_]+|OAR_[A-Z0-9_]+)", text):
        prefix = word.endswith("_") and any(n.startswith(word) for n in names)
        if word not in names and not prefix:
            bad.append(word)
    for code in re.findall(r"`([a-z_]+(?:\.[a-z_]+)?)`", text):
        table, _, name = code.rpartition(".")
        if table:
            if table not in TABLES or name not in [f.name for f in model.structs[struct_of(table)].functions()]:
                bad.append(code)
        elif not code.startswith("oar_") and code not in fields and code not in TABLES:
            bad.append(code)
    return bad


@pytest.fixture(scope="module")
def page(root):
    return (root / "api/docs/abi-tables.md").read_text()


def test_every_name_exists(page, model):
    assert unknown(page, model) == []


def test_wrong_names_are_found(model):
    assert unknown("`memory.kopy` `oar_nothing_t` OAR_TABLE_CHAIR `src_stridez` `chair.alloc`", model) == [
        "oar_nothing_t", "OAR_TABLE_CHAIR", "memory.kopy", "src_stridez", "chair.alloc"]
    assert unknown("`memory.copy` `oar_call_t` OAR_REASON_ `src_strides`", model) == []


def test_every_function_is_on_the_page(page, model):
    missing = [f"{t}.{f.name}" for t in TABLES if t != "plugin" for f in model.structs[struct_of(t)].functions()
               if f"`{t}.{f.name}`" not in page]
    assert missing == []
