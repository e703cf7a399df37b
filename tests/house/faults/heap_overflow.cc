// Reads element ARG of a heap block of four: ARG 4 is one past the end.
#include <cstdio>
#include <cstdlib>
#include <memory>

int main(int argc, char** argv) {
  const std::unique_ptr<int[]> block(new int[4]());
  std::printf("read %d\n", block.get()[argc > 1 ? std::atoi(argv[1]) : 0]);
}
