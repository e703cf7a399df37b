"""From the parsed model to the tables that the layers and replay walk: what each argument and each field is.

What C can't say comes from the naming rules of plugin.h (out_, n_, NULL and "(optional)" in comments) and from the short
lists at the top of this file.
"""
from dataclasses import dataclass, field

from parse import INTEGERS

# In table order; the prefix of OAR_TABLE_ and of the functions' names in messages.
TABLES = ["device", "memory", "stream", "pack", "kernel", "graph", "comm", "profiler"]
# Structs whose functions are called like a table's: the host, and the declarations of kernels.
CALLED = {"host": "oar_host_t", "kernel_decl": "oar_kernel_decl_t", "plugin": "oar_plugin_t"}
HANDLES = {"oar_device_t": "device", "oar_pack_t": "pack", "oar_stream_t": "stream", "oar_event_t": "event", "oar_comm_t": "comm"}
# void pointers by the name of the field or argument.
VOID_NAMES = {"state": ("handle", "state"), "states": ("handle", "state"), "native": ("handle", "native"),
              "stream": ("handle", "native"), "data": ("memory", "memory"), "out_data": ("memory", "memory"),
              "memory": ("memory", "none"), "dst": ("memory", "none"), "src": ("memory", "none"), "pointer": ("memory", "none")}
# Counts that the n_ rule doesn't find.
COUNTS = {"shape": "n_dims", "strides": "n_dims", "counts": "n_dims", "dst_strides": "n_dims", "src_strides": "n_dims",
          "dtypes": "n_masks"}
# Arguments that may be NULL though no comment says so: frame->stream may be, memory of no bytes may be, and so may options.
NULLABLE = {"launch_many": ["stream"], "*": ["options", "data"]}
MARKS = {"any_thread", "one_thread", "may_block", "quick"}


@dataclass
class Member:
    name: str
    offset: int
    size: int
    stars: int
    type: str
    handle: str = "none"
    record: str = ""
    count: int = -1
    element: int = 0
    nullable: bool = False
    out: bool = False
    signed: bool = False


@dataclass
class Call:
    table: str
    name: str
    struct: str
    offset: int
    mark: str
    optional: bool
    returns: str
    args: list = field(default_factory=list)

    @property
    def id(self):
        return f"{self.table}_{self.name}"


def _count(f, siblings):
    names = [s.name for s in siblings]
    bare = f.name.removeprefix("out_")
    for candidate in (f"n_{bare}", COUNTS.get(bare, ""), f"n_{bare.split('_')[0]}s"):
        if candidate in names:
            return names.index(candidate)
    if f.name.startswith("out_"):
        return names.index("out_n") if "out_n" in names else -2
    return names.index("n") if "n" in names else -2


def _member(model, f, siblings, offset, size, above, is_arg):
    t = f.type
    m = Member(f.name, offset, size, t.stars, "opaque")
    m.out = is_arg and f.name.startswith("out_")
    comment = f.beside if not is_arg else above
    # "an absent input is NULL" speaks of the elements, "NULL: none" and "otherwise NULL" of the field itself.
    may_be_null = "NULL" in comment and " is NULL" not in comment or comment.startswith("if ") or f.name == "ext"
    m.nullable = f"{f.name} NULL" in above if is_arg else may_be_null
    if t.base == "function":
        m.type = "function"
    elif t.base in ("record", "array"):
        m.type = "bytes"
    elif t.base == "void":
        m.type, m.handle = VOID_NAMES.get(f.name, ("opaque", "none"))
        m.stars = t.stars - 1
        m.nullable |= m.type == "opaque" or m.handle in ("state", "native")
    elif t.base == "oar_host_t":
        m.type, m.stars = "host", 0
    elif t.base in HANDLES:
        m.type, m.handle, m.stars = "handle", HANDLES[t.base], t.stars - 1
    elif t.base == "oar_kernel_decl_t" and not m.out:
        m.type, m.handle, m.stars = "handle", "decl", t.stars - 1
    elif t.base in INTEGERS:
        m.type, (m.element, m.signed) = "integer", INTEGERS[t.base]
    elif t.base == "oar_str_t":
        m.type, m.element = "text", 16
    elif t.base in model.structs:
        m.type, m.record = "record", t.base
        if m.out and m.stars > 1:
            m.stars -= 1
    elif t.base in ("char", "oar_kv_t"):
        m.type, m.nullable = "opaque", True
    elif any(e.name.removesuffix("_t") == t.base.removesuffix("_t") for e in model.enums):
        m.type, m.element = "integer", 4
    else:
        raise ValueError(f"{f.name}: no rule for the type {f.text}")
    many = (m.stars == 2 if m.type == "record" else m.stars == 1)
    if m.type == "record" and m.stars == 1 and model.structs[t.base].frozen:
        many = _count(f, siblings) >= 0 and f.name.endswith("s")
    if many and not (m.out and m.type != "record"):
        m.count = _count(f, siblings)
    return m


def _returns(t):
    if t.base == "void" and t.stars == 0:
        return "nothing"
    if t.base == "oar_status_t":
        return "status"
    return "pointer" if t.stars else {4: "integer4", 8: "integer8"}[INTEGERS[t.base][0]]


def records(model, layout, headers=("types.h", "plugin.h")):
    """{struct name: [Member]} of the plugin's headers."""
    out = {}
    for s in model.structs.values():
        if s.header in headers:
            out[s.name] = [_member(model, f, s.fields, layout[f"offsetof({s.name}, {f.name})"],
                                   layout[f"sizeof((({s.name}*)0)->{f.name})"], f.above, False) for f in s.fields]
    return out


def calls(model, layout):
    """Every function of the tables, of the host, of kernel declarations and of the plugin itself."""
    out = []
    for table, struct in [("host", CALLED["host"])] + [(t, f"oar_{t}_table_t") for t in TABLES] + \
            [(t, CALLED[t]) for t in ("kernel_decl", "plugin")]:
        for f in model.structs[struct].functions():
            fn = f.type.function
            if fn.mark not in MARKS:
                raise ValueError(f"{struct}.{f.name}: unknown thread mark {fn.mark}")
            comment = f"{f.above} {f.beside}"
            optional = f.above.startswith("(optional)") or f.beside.startswith("(optional)")
            call = Call(table, f.name, struct, layout[f"offsetof({struct}, {f.name})"], fn.mark, optional, _returns(fn.result))
            for p in fn.params:
                size = INTEGERS[p.type.base][0] if p.type.is_integer else 16 if p.type.base == "oar_str_t" and not p.type.stars else 8
                call.args.append(_member(model, p, fn.params, 0, size, comment, True))
            for m in call.args:
                m.nullable |= m.name in NULLABLE.get(call.name, []) + NULLABLE["*"]
            out.append(call)
    return out
