// Work spread over several streams of one device, with operands that cross between them: streams DEVICE. Prints "sum N".
#include <cstdio>
#include <vector>

#include <oarlock/oarlock.h>

using namespace oarlock;

int main(int argc, char** argv) {
  if (argc != 2) return 2;
  try {
    Device device(argv[1]);
    std::vector<StreamHandle> streams = {StreamHandle(device), StreamHandle::make(device), StreamHandle::make(device)};
    Tensor total = full({64}, 0).to(device), x = full({64}, 1).to(device);
    for (int i = 0; i < 60; ++i) {  // each step reads what the one before wrote on another stream
      StreamScope scope(streams[size_t(i * 7 % 3)]);
      x = x + full({64}, 1).to(device);
      {
        StreamScope inner(streams[size_t(i * 5 % 3)]);
        total = total + x;
      }
    }
    streams[1].wait_for(streams[2]);
    streams[0].wait_for(streams[1]);
    StreamScope scope(streams[0]);
    std::printf("sum %g\n", sum(total).item());
    streams[2].synchronize();
  } catch (const Error& e) {
    std::printf("error: %s\n", e.what());
    return 1;
  }
}
