#include "serve/process_memory.hpp"

#include <cstdlib>  // defines __GLIBC__

#ifdef __GLIBC__
#include <malloc.h>
#endif

namespace roofcast {

void limit_heaps([[maybe_unused]] int heaps) {
#ifdef __GLIBC__
  mallopt(M_ARENA_MAX, heaps);
#endif
}

void give_back_freed_memory() {
#ifdef __GLIBC__
  malloc_trim(0);
#endif
}

}  // namespace roofcast
