// Attributes in words, for errors, listings and the manual.
#pragma once
#include <string>

#include "core/op/attrs.h"
#include "core/op/opdef.h"

namespace oarlock::op {

std::string number_text(double v);  // the shortest that reads back the same
std::string attribute_text(AttrKind kind, const oar_attr_t& v);
const char* kind_text(AttrKind kind);  // "an integer"
uint32_t wire_type(AttrKind kind);     // oar_attr_type_t
// What a call that leaves the attribute out gets; not set for attributes that are required or may be none. Lists point into
// the definition.
oar_attr_t default_of(const Attribute& a);

}  // namespace oarlock::op
