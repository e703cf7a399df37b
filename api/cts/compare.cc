#include "api/cts/compare.h"

#include <string.h>

#include <cmath>

#include <fmt/format.h>

#include "api/cts/number.h"

namespace oarlock::cts {

namespace {

std::string place(const Shape& shape, int64_t i) {
  std::string s = "]";
  for (int axis = shape.rank - 1; axis >= 0; --axis) {
    s = std::to_string(i % shape(axis)) + (s[0] == ']' ? "" : ", ") + s;
    i /= shape(axis);
  }
  return "[" + s;
}

}  // namespace

double allowed_difference(const HostTensor& want, const HostTensor* scale, const Tolerance& tolerance, int64_t i) {
  if (!is_float(want.dtype) || tolerance.exact) return 0;
  double size = std::fabs(get_number(want.bytes.data(), want.dtype, i));
  double terms = scale ? std::fabs(get_number(scale->bytes.data(), scale->dtype, i)) : 0;
  if (tolerance.finite_operands || std::isfinite(terms)) size = std::max(size, terms);
  return tolerance.ulps * epsilon(want.dtype) * std::sqrt(std::max(tolerance.reads, 1.0)) * size + smallest(want.dtype);
}

std::optional<std::string> compare(const HostTensor& got, const HostTensor& want, const HostTensor* scale,
                                   const Tolerance& tolerance) {
  if (want.dtype == DType::none || got.dtype == DType::none) return {};
  if (got.dtype != want.dtype) return fmt::format("dtype is {}, want {}", to_string(got.dtype), to_string(want.dtype));
  if (!(got.shape == want.shape))
    return fmt::format("shape is {}, want {}", to_string(got.shape), to_string(want.shape));
  DType t = want.dtype;
  int64_t n = want.count();
  if (!is_float(t) || tolerance.exact) {
    int64_t width = info(t).bits / 8;
    for (int64_t i = 0; i < n; ++i) {
      if (memcmp(&got.bytes[size_t(i * width)], &want.bytes[size_t(i * width)], size_t(width)) == 0) continue;
      double g = get_number(got.bytes.data(), t, i), w = get_number(want.bytes.data(), t, i);
      if (is_float(t) && ((std::isnan(g) && std::isnan(w)) || g == w)) continue;
      return fmt::format("element {} is {}, want {}", place(want.shape, i), number_text(got.bytes.data(), t, i),
                         number_text(want.bytes.data(), t, i));
    }
    return {};
  }
  double factor = tolerance.ulps * epsilon(t) * std::sqrt(std::max(tolerance.reads, 1.0));
  for (int64_t i = 0; i < n; ++i) {
    double g = get_number(got.bytes.data(), t, i), w = get_number(want.bytes.data(), t, i);
    if (g == w || (std::isnan(g) && std::isnan(w))) continue;
    double allowed = allowed_difference(want, scale, tolerance, i);
    bool open = std::isinf(allowed) && tolerance.finite_operands;
    if (std::isinf(g) != std::isinf(w) && !std::isnan(g) && !std::isnan(w)) {
      double finite = std::isinf(g) ? w : g, infinite = std::isinf(g) ? g : w;
      if (std::signbit(finite) == std::signbit(infinite) && std::fabs(finite) >= largest(t) * (1 - factor)) continue;
    } else if (t == DType::f16 && std::isnan(g) && std::isinf(w) && open) {
      continue;  // terms beyond what halves hold, of both signs
    } else if (std::isfinite(g) && std::isfinite(w) && (std::fabs(g - w) <= allowed || open)) {
      continue;
    }
    return fmt::format("element {} is {:.9g}, want {:.9g} (off by {:.3g}, allowed {:.3g})", place(want.shape, i), g, w,
                       std::fabs(g - w), allowed);
  }
  return {};
}

}  // namespace oarlock::cts
