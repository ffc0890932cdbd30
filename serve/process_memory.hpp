// Memory that answered questions leave behind. The C library keeps what is freed, in a heap of each
// of a server's many threads, for later: after a few large questions that is most of the process.
#pragma once

namespace roofcast {

/// Limits the number of heaps, whatever the number of threads. Call before threads start.
void limit_heaps(int heaps);

/// Returns freed memory to the system. Takes milliseconds.
void give_back_freed_memory();

}  // namespace roofcast
