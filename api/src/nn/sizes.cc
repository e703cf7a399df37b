#include <oarlock/nn/sizes.h>

#include <algorithm>

#include <oarlock/base/status.h>

namespace oarlock::nn {

std::vector<int64_t> Sizes::of(int n, const std::string& who, const char* what, int64_t least) const {
  if (list_.size() != 1 && list_.size() != size_t(n))
    throw Error(Code::invalid_argument, who + ": " + what + " has " + std::to_string(list_.size()) +
                                            " sizes, there are " + std::to_string(n) + " axes. Give one, or one each.");
  for (int64_t v : list_)
    if (v < least || v > INT32_MAX)
      throw Error(Code::invalid_argument, who + ": " + what + " is " + std::to_string(v) + ", it has to be from " +
                                              std::to_string(least) + " to 2147483647.");
  return list_.size() == 1 ? std::vector<int64_t>(size_t(n), list_[0]) : list_;
}

bool Padding::Ends::any() const {
  auto some = [](int64_t v) { return v != 0; };
  return std::any_of(begin.begin(), begin.end(), some) || std::any_of(end.begin(), end.end(), some);
}
std::vector<int64_t> Padding::Ends::all() const {
  std::vector<int64_t> out = begin;
  out.insert(out.end(), end.begin(), end.end());
  return out;
}
Padding::Ends Padding::ends(const std::vector<int64_t>& kernel, const std::vector<int64_t>& stride,
                            const std::vector<int64_t>& dilation, const std::string& who) const {
  size_t n = kernel.size();
  Ends out;
  if (mode_ == "same" || mode_ == "SAME") {
    for (size_t i = 0; i < n; ++i) {
      if (stride[i] != 1)
        throw Error(Code::invalid_argument, who + ": padding is \"same\", stride " + std::to_string(stride[i]) +
                                                ". That needs a stride of 1; give the padding in numbers.");
      int64_t all = dilation[i] * (kernel[i] - 1);
      out.begin.push_back(all / 2);
      out.end.push_back(all - all / 2);
    }
  } else if (mode_ == "valid" || mode_ == "VALID") {
    out.begin = out.end = std::vector<int64_t>(n, 0);
  } else if (!mode_.empty()) {
    throw Error(Code::invalid_argument,
                who + ": padding is \"" + mode_ + "\"; there are \"same\", \"valid\" and numbers.");
  } else if (n > 1 && sizes_.list().size() == 2 * n) {
    std::vector<int64_t> each = sizes_.of(int(2 * n), who, "padding", 0);
    for (size_t i = 0; i < n; ++i) {
      out.begin.push_back(each[2 * i]);
      out.end.push_back(each[2 * i + 1]);
    }
  } else if (n == 1 && sizes_.list().size() == 2) {
    std::vector<int64_t> each = sizes_.of(2, who, "padding", 0);
    out.begin = {each[0]};
    out.end = {each[1]};
  } else {
    out.begin = out.end = sizes_.of(int(n), who, "padding", 0);
  }
  return out;
}

}  // namespace oarlock::nn
