// N calls of one op, for counting instructions: dispatch_loop add|view|recorded N. What a call costs is the difference of
// two runs divided by the difference of their N.
#include <cstdio>
#include <cstdlib>
#include <string>

#include <oarlock/oarlock.h>

using namespace oarlock;

// The calls, in a function that callgrind can find: what start-up takes varies from run to run.
extern "C" [[gnu::noinline]] long repeat(const std::string& what, long n, const Tensor& x, const Tensor& y) {
  Tensor z;
  for (long i = 0; i < n; ++i) {
    if (what == "view") z = reshape(x, {4, 4});
    else if (what == "empty") z = Tensor::empty({16});
    else z = add(x, y);
  }
  return z.element_count();
}

int main(int argc, char** argv) {
  if (argc != 3) {
    std::fprintf(stderr, "usage: dispatch_loop add|view|recorded|empty N\n");
    return 2;
  }
  std::string what = argv[1];
  devices();
  Tensor x = full({16}, 1), y = full({16}, 2);
  if (what == "recorded") x.set_requires_grad();
  return repeat(what, std::atol(argv[2]), x, y) == 16 ? 0 : 1;
}
