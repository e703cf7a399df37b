// A process that forks after it has used a device: fork_after DEVICE. The child may not touch the device any more, is told
// so, and still computes on the host; the parent goes on.
#include <sys/wait.h>
#include <unistd.h>

#include <cstdio>

#include <oarlock/oarlock.h>

using namespace oarlock;

int main(int argc, char** argv) {
  if (argc != 2) return 2;
  Device device(argv[1]);
  Tensor x = full({4}, 1).to(device), big = full({1 << 20}, 1);
  std::printf("before %g %g\n", sum(x).item(), sum(big).item());
  std::fflush(stdout);
  pid_t child = fork();
  if (child == 0) {
    try {
      sum(x).item();
      std::printf("child used the device\n");
    } catch (const Error& e) { std::printf("child: %s\n", e.what()); }
    std::printf("child on the host %g\n", sum(add(big, big)).item());
    std::fflush(stdout);
    _exit(0);
  }
  int status = -1;
  waitpid(child, &status, 0);
  std::printf("child ended %d, after %g\n", status, sum(x).item());
}
