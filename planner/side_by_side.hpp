// Parts of one answer side by side, on threads of the caller's pool that have nothing else to do.
#pragma once

#include <cstddef>
#include <functional>
#include <initializer_list>

namespace roofcast {

/// Calls each part once and returns when all have ended. `threads` is that of the pool whose worker
/// calls this (for_each_index, LocalWorkers): if it is above 1, parts are called from several
/// threads at once and anything they share must be read-only or guarded; else they are called in
/// turn. May be called from within a part. If parts throw, all of them still end, then the
/// exception of the first in order is rethrown.
void side_by_side(int threads, std::initializer_list<std::function<void()>> parts);

/// The same for fn(i), for every i in [0, count).
void side_by_side(int threads, std::size_t count, const std::function<void(std::size_t)>& fn);

}  // namespace roofcast
