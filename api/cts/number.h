// Numbers of every dtype that ops compute with, to and from double or int64, on the host.
#pragma once
#include <cstdint>
#include <string>
#include <vector>

#include <oarlock/base/dtype.h>

namespace oarlock::cts {

// Element i of row-major bytes. Integers beyond 2^53 lose bits: compare those as bytes.
double get_number(const void* bytes, DType dtype, int64_t i);
// Rounded to nearest even, wrapped to the integer's width, or != 0.
void put_number(void* bytes, DType dtype, int64_t i, double value);
// The distance between 1 and the next number; 0 for what has none.
double epsilon(DType dtype);
// The smallest normal number.
double smallest(DType dtype);
double largest(DType dtype);
bool is_float(DType dtype);
bool is_integer(DType dtype);
std::string number_text(const void* bytes, DType dtype, int64_t i);

}  // namespace oarlock::cts
