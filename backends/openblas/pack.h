// What the files of this plugin share: the opened pack, and how many threads the library may take.
#ifndef OARLOCK_OPENBLAS_PACK_H_
#define OARLOCK_OPENBLAS_PACK_H_

#include <kit.hpp>
#include <kit_list.h>

struct oar_pack {
  const oar_host_t* host;
};

namespace oarlock::openblas {

// OpenBLAS built on OpenMP asks omp_get_max_threads(), a number of the calling thread. While one of these lives, that is
// at most `most`.
class ThreadLimit {
 public:
  explicit ThreadLimit(int most);
  ~ThreadLimit();
  ThreadLimit(const ThreadLimit&) = delete;
  ThreadLimit& operator=(const ThreadLimit&) = delete;

 private:
  int before_ = 0;  // 0: untouched
};

}  // namespace oarlock::openblas
#endif
