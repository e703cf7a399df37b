"""Reads the C headers of the ABI into a model: the headers are the description, there is no second list.

The preprocessor runs with OAR_GENERATOR, which turns thread marks into pragmas, and with stand-ins for the system
headers. Comments carry what C can't say ("(optional)", "stream NULL: ..."), so they are read from the source text by line.
"""
import re
import subprocess
import tempfile
from dataclasses import dataclass, field
from pathlib import Path

from pycparser import c_ast, c_generator, c_parser

ROOT = Path(__file__).resolve().parents[3]
HEADERS = ROOT / "api" / "abi"

INTEGERS = {"int8_t": (1, True), "int16_t": (2, True), "int32_t": (4, True), "int64_t": (8, True), "uint8_t": (1, False),
            "uint16_t": (2, False), "uint32_t": (4, False), "uint64_t": (8, False), "size_t": (8, False), "int": (4, True),
            "oar_status_t": (4, True), "oar_layout_t": (8, False)}
BUILTIN = {"int8_t": "signed char", "int16_t": "short", "int32_t": "int", "int64_t": "long long", "uint8_t": "unsigned char",
           "uint16_t": "unsigned short", "uint32_t": "unsigned int", "uint64_t": "unsigned long long"}


@dataclass
class Type:
    """base with `stars` pointers behind it; base is a typedef's name, `function`, `record` (nameless) or `array`."""
    base: str
    stars: int = 0
    const: bool = False          # what the last pointer points to is const
    count: int = 0               # of an array
    function: "Function" = None
    fields: list = None          # of a nameless struct or union

    @property
    def is_integer(self):
        return self.stars == 0 and self.base in INTEGERS


@dataclass
class Field:
    name: str
    type: Type
    text: str                    # the type as C text
    line: int = 0
    above: str = ""              # the comment above it, which speaks for all fields until the next one
    beside: str = ""             # the comment at the end of its line


@dataclass
class Function:
    result: Type
    result_text: str
    params: list                 # of Field
    mark: str = ""


@dataclass
class Struct:
    name: str                    # oar_view_t
    tag: str                     # oar_view
    header: str
    fields: list = field(default_factory=list)

    @property
    def frozen(self):
        return not self.fields or self.fields[0].name != "struct_size"

    @property
    def is_table(self):
        return self.name.endswith("_table_t")

    def functions(self):
        return [f for f in self.fields if f.type.base == "function"]


@dataclass
class Enum:
    name: str                    # of the typedef; nameless ones are called by their first constant
    header: str
    constants: list = field(default_factory=list)   # (name, value)


@dataclass
class Export:
    name: str
    header: str
    function: Function = None
    text: str = ""


@dataclass
class Model:
    structs: dict = field(default_factory=dict)
    enums: list = field(default_factory=list)
    opaque: dict = field(default_factory=dict)      # typedef name -> header
    aliases: dict = field(default_factory=dict)     # oar_status_t -> int32_t
    exports: list = field(default_factory=list)
    macros: dict = field(default_factory=dict)      # OAR_ABI_VERSION -> 1, functions like OAR_HAS -> None
    macro_headers: dict = field(default_factory=dict)

    @property
    def tables(self):
        return [s for s in self.structs.values() if s.is_table]

    def constants(self):
        return {n: v for e in self.enums for n, v in e.constants}

    def names(self):
        """Everything that a page may mention."""
        known = set(self.structs) | {s.tag for s in self.structs.values()} | set(self.opaque) | set(self.aliases)
        known |= set(self.constants()) | set(self.macros) | {e.name for e in self.exports} | {e.name for e in self.enums}
        return known


class ParseError(Exception):
    pass


def strip_text(text):
    text = re.sub(r"\s+", " ", text).strip()
    return re.sub(r"\s*\*\s*", "*", text).replace("*const", "* const").replace("*(", "* (")


class _Comments:
    """Comments of one source file by line."""

    def __init__(self, text):
        self.lines = text.split("\n")
        self.beside, self.above, self.block = {}, {}, {}
        for m in re.finditer(r"/\*.*?\*/|//[^\n]*", text, re.S):
            first = text.count("\n", 0, m.start()) + 1
            last = text.count("\n", 0, m.end()) + 1
            body = re.sub(r"\n\s*\*? ?", " ", m.group(0).strip("/").strip("*")).strip()
            before = self.lines[first - 1][:m.start() - (text.rfind("\n", 0, m.start()) + 1)].strip()
            if before:
                self.beside[first] = body
            else:
                self.block[last] = body

    def above_line(self, start, line):
        """The nearest comment block that ends on a line in [start, line)."""
        for n in range(line - 1, start - 1, -1):
            if n in self.block:
                return self.block[n]
        return ""


class _Reader:
    def __init__(self, model):
        self.model = model
        self.generator = c_generator.CGenerator()
        self.comments = {}
        self.nodes = {}

    def comment(self, path):
        if path not in self.comments:
            self.comments[path] = _Comments(Path(path).read_text())
        return self.comments[path]

    def text(self, node):
        """The type of a declaration as C text without its name."""
        clone = c_ast.Typename(None, getattr(node, "quals", []) or [], None, _nameless(node))
        text = strip_text(self.generator.visit(clone))
        return re.sub(r"\bstruct (oar_\w+)\b", lambda m: m.group(1) + "_t", text)

    def type(self, node):
        if isinstance(node, c_ast.PtrDecl):
            inner = self.type(node.type)
            if inner.base == "function" and inner.stars == 0 and not inner.count:
                return inner
            inner.stars += 1
            if inner.stars == 1:
                inner.const = "const" in (getattr(node.type, "quals", None) or [])
            return inner
        if isinstance(node, c_ast.TypeDecl):
            return self.type(node.type)
        if isinstance(node, c_ast.IdentifierType):
            return Type(" ".join(node.names))
        if isinstance(node, (c_ast.Struct, c_ast.Union)):
            if node.decls and not node.name:
                return Type("record", fields=self.fields(node))
            return Type(node.name + "_t")
        if isinstance(node, c_ast.Enum):
            return Type(node.name or "int")
        if isinstance(node, c_ast.ArrayDecl):
            inner = self.type(node.type)
            return Type("array", count=int(node.dim.value), fields=[Field("", inner, "")])
        if isinstance(node, c_ast.FuncDecl):
            return Type("function", function=self.function(node, ""))
        raise ParseError(f"{node.coord}: a type that the generator can't read: {type(node).__name__}")

    def function(self, node, mark):
        params = []
        for p in node.args.params if node.args else []:
            if isinstance(p, c_ast.Typename) and self.text(p.type) == "void":
                continue
            t = self.type(p.type)
            if t.base == "function":
                t.function.mark = "callback"
            params.append(Field(p.name or "", t, self.text(p.type), p.coord.line))
        return Function(self.type(node.type), self.text(node.type), params, mark)

    def fields(self, node):
        out, mark, start = [], "", node.coord.line
        comments = self.comment(node.coord.file)
        for d in node.decls:
            if isinstance(d, c_ast.Pragma):
                words = d.string.split()
                if words[:1] == ["oar"]:
                    mark = words[1]
                continue
            t = self.type(d.type)
            if t.base == "function":
                t.function.mark = mark
                if not mark:
                    raise ParseError(f"{d.coord}: {d.name} has no thread mark")
            mark = ""
            out.append(Field(d.name, t, self.text(d.type), d.coord.line, comments.above_line(start, d.coord.line),
                             comments.beside.get(self.last_line(comments, d.coord.line), "")))
        return out

    @staticmethod
    def last_line(comments, line):
        """The line on which a declaration that begins on `line` ends."""
        while line <= len(comments.lines) and ";" not in comments.lines[line - 1]:
            line += 1
        return line

    def evaluate(self, node, known):
        if isinstance(node, c_ast.Constant):
            return int(node.value.rstrip("uUlL"), 0)
        if isinstance(node, c_ast.ID):
            return known[node.name]
        if isinstance(node, c_ast.UnaryOp) and node.op == "-":
            return -self.evaluate(node.expr, known)
        if isinstance(node, c_ast.BinaryOp):
            a, b = self.evaluate(node.left, known), self.evaluate(node.right, known)
            return {"<<": a << b if b >= 0 else 0, "|": a | b, "+": a + b, "-": a - b}[node.op]
        raise ParseError(f"{node.coord}: an enum value that the generator can't work out")

    def enum(self, node, name, header):
        known, value, out = self.model.constants(), -1, []
        for e in node.values.enumerators:
            value = self.evaluate(e.value, known) if e.value is not None else value + 1
            known[e.name] = value
            out.append((e.name, value))
        self.model.enums.append(Enum(name or out[0][0], header, out))

    def struct(self, node, header):
        name = node.name + "_t"
        self.model.opaque.pop(name, None)
        self.model.structs[name] = Struct(name, node.name, header, self.fields(node))

    def read(self, tree):
        for node in tree.ext:
            if not hasattr(node, "coord") or node.coord is None or not str(node.coord.file).endswith(".h"):
                continue
            header = Path(node.coord.file).name
            if header in ("stddef.h", "stdint.h", "string.h", "stdbool.h"):
                continue
            if isinstance(node, c_ast.Typedef):
                self.typedef(node, header)
            elif isinstance(node, c_ast.Decl):
                t = node.type
                if isinstance(t, c_ast.Struct) and t.decls:
                    self.struct(t, header)
                elif isinstance(t, c_ast.Enum):
                    self.enum(t, t.name, header)
                elif isinstance(t, c_ast.FuncDecl):
                    self.model.exports.append(Export(node.name, header, self.function(t, ""), self.text(t)))

    def typedef(self, node, header):
        t = node.type
        if isinstance(t, c_ast.TypeDecl) and isinstance(t.type, c_ast.Struct):
            if t.type.decls:
                self.struct(t.type, header)
            elif node.name not in self.model.structs:
                self.model.opaque[node.name] = header
        elif isinstance(t, c_ast.TypeDecl) and isinstance(t.type, c_ast.Enum):
            self.enum(t.type, node.name, header)
        else:
            self.model.aliases[node.name] = self.text(t)


def _nameless(node):
    """A copy of a declarator without the declared name."""
    if isinstance(node, c_ast.TypeDecl):
        return c_ast.TypeDecl(None, node.quals, None, node.type)
    if isinstance(node, c_ast.PtrDecl):
        return c_ast.PtrDecl(node.quals, _nameless(node.type))
    if isinstance(node, c_ast.ArrayDecl):
        return c_ast.ArrayDecl(_nameless(node.type), node.dim, node.dim_quals)
    if isinstance(node, c_ast.FuncDecl):
        return c_ast.FuncDecl(node.args, _nameless(node.type))
    return node


def preprocess(include_dir, headers):
    """The headers after cc -E, with stand-ins for the system headers."""
    with tempfile.TemporaryDirectory() as tmp:
        fake = Path(tmp)
        (fake / "stdint.h").write_text("#pragma once\n" + "".join(f"typedef {c} {n};\n" for n, c in BUILTIN.items()))
        (fake / "stddef.h").write_text("#pragma once\ntypedef unsigned long size_t;\n#define NULL ((void*)0)\n")
        (fake / "string.h").write_text('#include "stddef.h"\n')
        (fake / "stdbool.h").write_text("#define bool _Bool\n#define true 1\n#define false 0\n")
        source = "".join(f'#include "oarlock/{h}"\n' for h in headers)
        command = ["cc", "-E", "-nostdinc", "-undef", "-DOAR_GENERATOR", "-D__attribute__(x)=", "-D__GNUC__=12",
                   f"-I{fake}", f"-I{include_dir}", "-x", "c", "-"]
        done = subprocess.run(command, input=source, capture_output=True, text=True)
    if done.returncode != 0:
        raise ParseError(done.stderr)
    return done.stdout


def parse(include_dir=HEADERS, headers=None):
    """The model of types.h, plugin.h and, if it is there, app.h below include_dir/oarlock."""
    include_dir = Path(include_dir)
    if headers is None:
        headers = [h for h in ("types.h", "plugin.h", "app.h") if (include_dir / "oarlock" / h).exists()]
    model = Model()
    try:
        tree = c_parser.CParser().parse(preprocess(include_dir, headers), filename="<abi>")
    except c_parser.ParseError as e:
        raise ParseError(str(e)) from e
    _Reader(model).read(tree)
    for h in headers:
        text = (include_dir / "oarlock" / h).read_text()
        for m in re.finditer(r"^#define (OAR_\w+)(\(|[ \t]+(\d+)u?\b)?", text, re.M):
            model.macro_headers[m.group(1)] = h
            model.macros[m.group(1)] = int(m.group(3)) if m.group(3) else None
    return model


if __name__ == "__main__":
    m = parse()
    for s in m.structs.values():
        print(s.name, "frozen" if s.frozen else "")
        for f in s.fields:
            print("   ", f.name, "|", f.text, "|", f.type.base, f.type.stars, f.type.function.mark if f.type.function else "")
