// Adds ARG to INT_MAX - 1: ARG 2 overflows.
#include <climits>
#include <cstdio>
#include <cstdlib>

int main(int argc, char** argv) {
  const int sum = INT_MAX - 1 + (argc > 1 ? std::atoi(argv[1]) : 0);
  std::printf("sum %d\n", sum);
}
