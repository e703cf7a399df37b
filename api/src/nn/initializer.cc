#include <oarlock/nn/initializer.h>

#include <cmath>
#include <numbers>
#include <vector>

#include <oarlock/base/autograd.h>
#include <oarlock/base/ops.h>

namespace oarlock::nn::initializer {
namespace {

// n numbers of [0, 1), f64, which not every device has.
std::vector<double> draw(int64_t n, Generator& generator) {
  DeviceScope host{Device()};
  std::vector<double> u(static_cast<size_t>(n));
  random_uniform(generator.next(), {n}, DType::f64).copy_to_host(u.data());
  return u;
}
Tensor made(const std::vector<double>& values, const Shape& shape, DType dtype) {
  Tensor t = Tensor::from_host(values.data(), shape, DType::f64);
  return (dtype == DType::f64 ? t : cast(t, dtype)).to(current_device());
}
std::vector<double> normals(int64_t n, Generator& generator) {
  std::vector<double> u = draw(n + n % 2, generator);
  for (size_t i = 0; i < u.size(); i += 2) {
    double r = std::sqrt(-2 * std::log1p(-u[i])), angle = 2 * std::numbers::pi * u[i + 1];
    u[i] = r * std::cos(angle);
    u[i + 1] = r * std::sin(angle);
  }
  u.resize(size_t(n));
  return u;
}

struct Fans {
  double in, out;
};
Fans fans(const Shape& shape, const char* who) {
  if (shape.rank < 2)
    throw Error(Code::invalid_argument, std::string(who) + ": shape " + to_string(shape) +
                                            " has no fans; they need two axes or more. Give fan_in, or use Uniform.");
  double kernel = 1;
  for (int i = 2; i < shape.rank; ++i) kernel *= double(shape(i));
  return {double(shape(1)) * kernel, double(shape(0)) * kernel};
}

// The quantile of the standard normal distribution. Acklam's rational approximation, then one step of Halley's method: full
// precision of f64.
double quantile(double p) {
  static const double a[] = {-39.69683028665376, 220.9460984245205,  -275.9285104469687,
                             138.3577518672690,  -30.66479806614716, 2.506628277459239};
  static const double b[] = {-54.47609879822406, 161.5858368580409, -155.6989798598866, 66.80131188771972,
                             -13.28068155288572};
  static const double c[] = {-0.007784894002430293, -0.3223964580411365, -2.400758277161838,
                             -2.549732539343734,    4.374664141464968,   2.938163982698783};
  static const double d[] = {0.007784695709041462, 0.3224671290700398, 2.445134137142996, 3.754408661907416};
  if (p <= 0) return -INFINITY;
  if (p >= 1) return INFINITY;
  double x;
  if (p < 0.02425 || p > 1 - 0.02425) {
    double q = std::sqrt(-2 * std::log(std::min(p, 1 - p)));
    x = (((((c[0] * q + c[1]) * q + c[2]) * q + c[3]) * q + c[4]) * q + c[5]) /
        ((((d[0] * q + d[1]) * q + d[2]) * q + d[3]) * q + 1);
    if (p > 0.5) x = -x;
  } else {
    double q = p - 0.5, r = q * q;
    x = (((((a[0] * r + a[1]) * r + a[2]) * r + a[3]) * r + a[4]) * r + a[5]) * q /
        (((((b[0] * r + b[1]) * r + b[2]) * r + b[3]) * r + b[4]) * r + 1);
  }
  double e = 0.5 * std::erfc(-x / std::numbers::sqrt2) - p;
  double u = e * std::sqrt(2 * std::numbers::pi) * std::exp(x * x / 2);
  return x - u / (1 + x * u / 2);
}

}  // namespace

Tensor Constant::operator()(const Shape& shape, DType dtype, Generator&) const {
  NoGrad off;
  return full(shape, value, dtype);
}
Tensor Assign::operator()(const Shape& shape, DType dtype, Generator&) const {
  if (!value.defined() || !(value.shape() == shape))
    throw Error(Code::invalid_argument, "Assign: the parameter has shape " + to_string(shape) + ", the value " +
                                            (value.defined() ? to_string(value.shape()) : "none") + ".");
  NoGrad off;
  Tensor own = value.dtype() == dtype ? value.detach().clone() : cast(value.detach(), dtype);
  return own.to(current_device());
}
Tensor Uniform::operator()(const Shape& shape, DType dtype, Generator& generator) const {
  NoGrad off;
  std::vector<double> u = draw(count(shape), generator);
  for (double& x : u) x = low + (high - low) * x;
  return made(u, shape, dtype);
}
Tensor Normal::operator()(const Shape& shape, DType dtype, Generator& generator) const {
  NoGrad off;
  std::vector<double> z = normals(count(shape), generator);
  for (double& x : z) x = mean + std * x;
  return made(z, shape, dtype);
}
Tensor TruncatedNormal::operator()(const Shape& shape, DType dtype, Generator& generator) const {
  NoGrad off;
  auto below = [](double x) { return 0.5 * std::erfc(-x / std::numbers::sqrt2); };
  double from = below(a), to = below(b);
  std::vector<double> u = draw(count(shape), generator);
  for (double& x : u) x = mean + std * std::clamp(quantile(from + (to - from) * x), a, b);
  return made(u, shape, dtype);
}
static double xavier_std(const Shape& shape, double fan_in, double fan_out, double gain, const char* who) {
  if (fan_in <= 0 || fan_out <= 0) {
    Fans f = fans(shape, who);
    if (fan_in <= 0) fan_in = f.in;
    if (fan_out <= 0) fan_out = f.out;
  }
  return gain * std::sqrt(2 / (fan_in + fan_out));
}
Tensor XavierUniform::operator()(const Shape& shape, DType dtype, Generator& generator) const {
  double limit = std::sqrt(3.0) * xavier_std(shape, fan_in, fan_out, gain, "XavierUniform");
  return Uniform{-limit, limit}(shape, dtype, generator);
}
Tensor XavierNormal::operator()(const Shape& shape, DType dtype, Generator& generator) const {
  return Normal{0, xavier_std(shape, fan_in, fan_out, gain, "XavierNormal")}(shape, dtype, generator);
}
static double kaiming_std(const Shape& shape, double fan_in, double slope, std::string_view what, const char* who) {
  if (fan_in <= 0) fan_in = fans(shape, who).in;
  return fan_in > 0 ? calculate_gain(what, slope) / std::sqrt(fan_in) : 0;
}
Tensor KaimingUniform::operator()(const Shape& shape, DType dtype, Generator& generator) const {
  double limit = std::sqrt(3.0) * kaiming_std(shape, fan_in, negative_slope, nonlinearity, "KaimingUniform");
  return Uniform{-limit, limit}(shape, dtype, generator);
}
Tensor KaimingNormal::operator()(const Shape& shape, DType dtype, Generator& generator) const {
  return Normal{0, kaiming_std(shape, fan_in, negative_slope, nonlinearity, "KaimingNormal")}(shape, dtype, generator);
}

Tensor Orthogonal::operator()(const Shape& shape, DType dtype, Generator& generator) const {
  if (shape.rank < 2)
    throw Error(Code::invalid_argument,
                "Orthogonal: shape " + to_string(shape) + " has fewer than two axes; a matrix is needed.");
  NoGrad off;
  int64_t rows = shape(0), columns = rows ? count(shape) / rows : 0;
  int64_t n = std::min(rows, columns), length = std::max(rows, columns);
  // n vectors of that length, each made orthogonal to those before it; twice, which is enough (Giraud et al. 2005).
  std::vector<double> v = normals(n * length, generator);
  for (int64_t i = 0; i < n; ++i) {
    double* x = v.data() + i * length;
    for (int pass = 0; pass < 2; ++pass)
      for (int64_t j = 0; j < i; ++j) {
        const double* y = v.data() + j * length;
        double dot = 0;
        for (int64_t k = 0; k < length; ++k) dot += x[k] * y[k];
        for (int64_t k = 0; k < length; ++k) x[k] -= dot * y[k];
      }
    double norm = 0;
    for (int64_t k = 0; k < length; ++k) norm += x[k] * x[k];
    norm = std::sqrt(norm);
    for (int64_t k = 0; k < length; ++k) x[k] /= norm;
  }
  std::vector<double> out(size_t(rows * columns));
  for (int64_t r = 0; r < rows; ++r)
    for (int64_t c = 0; c < columns; ++c)
      out[size_t(r * columns + c)] = gain * (rows <= columns ? v[size_t(r * length + c)] : v[size_t(c * length + r)]);
  return made(out, shape, dtype);
}

double calculate_gain(std::string_view nonlinearity, double param) {
  if (nonlinearity == "tanh") return 5.0 / 3;
  if (nonlinearity == "relu") return std::numbers::sqrt2;
  if (nonlinearity == "leaky_relu") return std::sqrt(2 / (1 + param * param));
  if (nonlinearity == "selu") return 0.75;
  for (std::string_view one :
       {"linear", "sigmoid", "conv1d", "conv2d", "conv3d", "conv1d_transpose", "conv2d_transpose", "conv3d_transpose"})
    if (nonlinearity == one) return 1;
  throw Error(Code::invalid_argument, "calculate_gain: there is no nonlinearity \"" + std::string(nonlinearity) +
                                          "\"; there are linear, conv1d to conv3d, sigmoid, tanh, relu, leaky_relu, "
                                          "selu.");
}

}  // namespace oarlock::nn::initializer
