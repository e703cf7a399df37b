// An OpenMP team sums into one number: by reduction and across a barrier, which is correct and must raise no report,
// or with ARG 1 without either.
#include <cstdio>
#include <cstdlib>

int main(int argc, char** argv) {
  const bool racing = argc > 1 && std::atoi(argv[1]) == 1;
  long sum = 0;
  if (racing) {
#pragma omp parallel for num_threads(2)
    for (int i = 0; i < 1000; ++i) sum += i;
  } else {
#pragma omp parallel for num_threads(2) reduction(+ : sum)
    for (int i = 0; i < 1000; ++i) sum += i;
    long parts[2] = {0, 0};
#pragma omp parallel for num_threads(2)
    for (int i = 0; i < 2; ++i) parts[i] = sum + i;
    sum = parts[0] + parts[1];
  }
  std::printf("sum %ld\n", sum);
}
