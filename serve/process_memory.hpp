// Memory that answered questions leave behind. The C library keeps what is freed, in a heap of each
// of a server's many threads, for later: after a few large questions that is most of the process.
#pragma once

namespace roofcast {

/// At most so many heaps, whatever the number of threads. Before the threads begin.
void limit_heaps(int heaps);

/// What is freed goes back to the system. Milliseconds.
void give_back_freed_memory();

}  // namespace roofcast
