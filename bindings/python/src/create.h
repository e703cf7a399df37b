// Functions that make tensors of data.
#pragma once
#include "object.h"

namespace oarlock::python {
void add_creation(PyObject* module);
}
