// Memory that questions leave behind: the C library keeps what is freed in heaps of the server's
// many threads, which after a few large questions is most of the process.
#pragma once

namespace roofcast {

/// Limits the number of heaps, whatever the number of threads. Call before threads start.
void limit_heaps(int heaps);

/// Returns freed memory to the system. Takes milliseconds.
void give_back_freed_memory();

}  // namespace roofcast
