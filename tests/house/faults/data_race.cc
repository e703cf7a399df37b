// Two threads count to a shared number: under a lock, or with ARG 1 without one.
#include <cstdio>
#include <cstdlib>
#include <mutex>
#include <thread>

int main(int argc, char** argv) {
  const bool racing = argc > 1 && std::atoi(argv[1]) == 1;
  std::mutex mutex;
  long count = 0;
  const auto work = [&] {
    for (int i = 0; i < 1000; ++i) {
      if (racing) {
        ++count;
      } else {
        const std::lock_guard lock(mutex);
        ++count;
      }
    }
  };
  std::thread other(work);
  work();
  other.join();
  std::printf("count %ld\n", count);
}
