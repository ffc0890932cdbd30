#include "tests/kernels/cuda/emulated_cta.hpp"

#include <ucontext.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <cstddef>
#include <cstring>
#include <deque>
#include <memory>
#include <numeric>
#include <random>
#include <stdexcept>
#include <string>
#include <vector>

#include "kernels/cuda/attention_tile.hpp"
#include "kernels/cuda/warp.hpp"
#include "kernels/element.hpp"
#include "tests/support/sanitised.hpp"

#if defined(ROOFCAST_SANITISED)
#include <sanitizer/common_interface_defs.h>
#endif

namespace roofcast::kernels::test {
namespace {

constexpr int kLanes = cuda::kWarpThreads;
constexpr std::size_t kStackBytes = std::size_t{256} * 1024;
constexpr std::uint32_t kSharedBase = 4096;  // not 0: a forgotten base is out of bounds
constexpr unsigned char kPoisoned = 0xff;    // NaN in every format

/// A lane's input to a warp operation, and its result.
struct Lane {
  std::array<std::uint32_t, 10> word{};
};
using Warp = std::array<Lane, kLanes>;

struct WarpState {
  std::string operation;
  int arrived = 0;
  std::uint64_t generation = 0;
  std::array<Warp, 2> lanes;  // used in turn: a lane may bring the next while others still take
};

struct Copy {
  std::uint32_t to = 0;
  const void* from = nullptr;  // null: zeros
};

struct Thread {
  ucontext_t context{};
  char* stack = nullptr;  // kStackBytes
  bool done = false;
  std::function<bool()> may_run;  // empty: yes
  std::vector<Copy> copies;       // since the last commit
  std::deque<std::vector<Copy>> groups;
};

struct Cta {
  const EmulatedLaunch* launch = nullptr;
  const std::function<void()>* body = nullptr;
  int index = 0;
  std::vector<Thread> threads{};
  std::vector<WarpState> warps{};
  std::vector<unsigned char> shared{};
  int at_barrier = 0;
  std::uint64_t barriers = 0;
  int current = 0;
  ucontext_t scheduler{};
  std::string error{};
#if defined(ROOFCAST_SANITISED)
  const void* scheduler_stack = nullptr;
  std::size_t scheduler_stack_bytes = 0;
#endif
};

Cta* cta = nullptr;  // the one that runs

// The address sanitiser must be told when the stack changes.
void switch_to(ucontext_t& from, ucontext_t& to, [[maybe_unused]] const void* stack,
               [[maybe_unused]] std::size_t bytes, [[maybe_unused]] bool for_ever = false) {
#if defined(ROOFCAST_SANITISED)
  void* fake = nullptr;
  __sanitizer_start_switch_fiber(for_ever ? nullptr : &fake, stack, bytes);
#endif
  swapcontext(&from, &to);
#if defined(ROOFCAST_SANITISED)
  __sanitizer_finish_switch_fiber(fake, nullptr, nullptr);
#endif
}

void leave(bool for_ever = false) {
#if defined(ROOFCAST_SANITISED)
  switch_to(cta->threads[static_cast<std::size_t>(cta->current)].context, cta->scheduler,
            cta->scheduler_stack, cta->scheduler_stack_bytes, for_ever);
#else
  switch_to(cta->threads[static_cast<std::size_t>(cta->current)].context, cta->scheduler, nullptr,
            0, for_ever);
#endif
}

Thread& self() { return cta->threads[static_cast<std::size_t>(cta->current)]; }

void wait_until(std::function<bool()> holds) {
  self().may_run = std::move(holds);
  leave();
}

struct ThreadFailed {};  // unwinds the failing thread's stack, up to run_thread

/// Ends the emulation; the calling thread does not continue.
[[noreturn]] void fail(const std::string& what) {
  cta->error = "CTA " + std::to_string(cta->index) + ", thread " + std::to_string(cta->current) +
               ": " + what;
  throw ThreadFailed{};
}

unsigned char* shared_at(std::uint32_t address, std::uint32_t bytes, const char* operation) {
  const std::uint32_t offset = address - kSharedBase;  // huge when below
  if (offset > cta->shared.size() || bytes > cta->shared.size() - offset) {
    fail(std::string(operation) + " outside shared memory, at byte " + std::to_string(offset));
  }
  if (address % bytes != 0) {
    fail(std::string(operation) + " misaligned, at byte " + std::to_string(offset));
  }
  return cta->shared.data() + offset;
}

/// All lanes of the warp meet; the last to arrive turns their inputs into results.
Lane meet(const char* operation, const Lane& brought, const std::function<void(Warp&)>& turn) {
  WarpState& warp = cta->warps[static_cast<std::size_t>(cta->current / kLanes)];
  const auto lane = static_cast<std::size_t>(cta->current % kLanes);
  if (warp.arrived == 0) warp.operation = operation;
  if (warp.operation != operation) {
    fail("comes to " + std::string(operation) + " while its warp is at " + warp.operation);
  }
  const std::uint64_t generation = warp.generation;
  Warp& lanes = warp.lanes[generation % 2];
  lanes[lane] = brought;
  if (++warp.arrived == kLanes) {
    turn(lanes);
    warp.arrived = 0;
    ++warp.generation;
  } else {
    wait_until([&warp, generation] { return warp.generation != generation; });
  }
  return lanes[lane];
}

void run_thread() {
#if defined(ROOFCAST_SANITISED)
  __sanitizer_finish_switch_fiber(nullptr, &cta->scheduler_stack, &cta->scheduler_stack_bytes);
#endif
  try {
    (*cta->body)();
    if (!self().copies.empty() || !self().groups.empty()) fail("ends with copies under way");
  } catch (const ThreadFailed&) {  // the scheduler sees cta->error
  }
  self().done = true;
  leave(true);
}

void start_thread(Thread& thread) {
  getcontext(&thread.context);
  thread.context.uc_stack.ss_sp = thread.stack;
  thread.context.uc_stack.ss_size = kStackBytes;
  thread.context.uc_link = nullptr;
  makecontext(&thread.context, run_thread, 0);
}

/// One round: each thread that may run does so until its next barrier, in random order.
bool run_round(std::mt19937& random) {
  std::vector<int> order(cta->threads.size());
  std::iota(order.begin(), order.end(), 0);
  std::shuffle(order.begin(), order.end(), random);
  bool progress = false;
  for (const int i : order) {
    Thread& thread = cta->threads[static_cast<std::size_t>(i)];
    if (thread.done || (thread.may_run && !thread.may_run())) continue;
    thread.may_run = nullptr;
    cta->current = i;
    switch_to(cta->scheduler, thread.context, thread.stack, kStackBytes);
    if (!cta->error.empty()) throw std::logic_error(cta->error);
    progress = true;
  }
  return progress;
}

/// `stacks`: for all threads, reused from one CTA to the next.
void run_cta(const EmulatedLaunch& launch, const std::function<void()>& body, int index,
             char* stacks, std::mt19937& random) {
  Cta state{.launch = &launch, .body = &body, .index = index};
  state.threads.resize(static_cast<std::size_t>(launch.threads));
  state.warps.resize(static_cast<std::size_t>(launch.threads / kLanes));
  state.shared.assign(launch.shared_bytes, kPoisoned);
  cta = &state;
  for (Thread& thread : state.threads) {
    thread.stack = stacks;
    stacks += kStackBytes;
    start_thread(thread);
  }
  while (run_round(random)) {
  }
  const auto done = std::count_if(state.threads.begin(), state.threads.end(),
                                  [](const Thread& thread) { return thread.done; });
  if (done != launch.threads) {
    throw std::logic_error("CTA " + std::to_string(index) + ": " +
                           std::to_string(launch.threads - done) + " threads wait for ever");
  }
}

}  // namespace

void emulate(const EmulatedLaunch& launch, const std::function<void()>& thread) {
  if (launch.threads % kLanes != 0) throw std::logic_error("threads must fill warps");
  std::mt19937 random(launch.seed);
  std::vector<int> order(static_cast<std::size_t>(launch.ctas));
  std::iota(order.begin(), order.end(), 0);
  std::shuffle(order.begin(), order.end(), random);
  const auto stacks = std::make_unique_for_overwrite<char[]>(
      static_cast<std::size_t>(launch.threads) * kStackBytes);
  for (const int index : order) run_cta(launch, thread, index, stacks.get(), random);
}

}  // namespace roofcast::kernels::test

namespace roofcast::kernels::cuda {

namespace {

using test::cta;
using test::Lane;
using test::Warp;

float half_of(std::uint32_t word, int half, Bf16 /*element*/) {
  return to_float(Bf16{static_cast<std::uint16_t>(word >> (16 * half))});
}
float half_of(std::uint32_t word, int half, Fp16 /*element*/) {
  return to_float(Fp16{static_cast<std::uint16_t>(word >> (16 * half))});
}

template <class T>
std::uint32_t packed(float low, float high) {
  return static_cast<std::uint32_t>(from_float<T>(low).bits) |
         (static_cast<std::uint32_t>(from_float<T>(high).bits) << 16);
}

/// Words 0 to 3 of each lane hold A; 4 and 5 hold B; 6 to 9 hold C, which becomes the result.
template <class T>
void multiply(Warp& lanes) {
  std::array<std::array<double, kFragmentDepth>, kFragmentRows> a{};
  std::array<std::array<double, kFragmentWidth>, kFragmentDepth> b{};
  const auto index = [](int i) { return static_cast<std::size_t>(i); };
  for (int l = 0; l < kWarpThreads; ++l) {
    const Lane& lane = lanes[index(l)];
    for (int i = 0; i < 8; ++i) {
      const Place place = place_in_a(l, i);
      a[index(place.row)][index(place.column)] = half_of(lane.word[index(i / 2)], i % 2, T{});
    }
    for (int i = 0; i < 4; ++i) {
      const Place place = place_in_b(l, i);
      b[index(place.row)][index(place.column)] = half_of(lane.word[index(4 + i / 2)], i % 2, T{});
    }
  }
  for (int l = 0; l < kWarpThreads; ++l) {
    for (int i = 0; i < 4; ++i) {
      const Place place = place_in_c(l, i);
      std::uint32_t& word = lanes[index(l)].word[index(6 + i)];
      double sum = std::bit_cast<float>(word);
      for (int k = 0; k < kFragmentDepth; ++k) {
        sum += a[index(place.row)][index(k)] * b[index(k)][index(place.column)];
      }
      word = std::bit_cast<std::uint32_t>(static_cast<float>(sum));
    }
  }
}

std::uint16_t matrix_element(const Warp& rows, int matrix, int row, int column) {
  const std::uint32_t address = rows[static_cast<std::size_t>(8 * matrix + row)].word[4];
  std::uint16_t value = 0;
  std::memcpy(&value, test::shared_at(address, kChunkBytes, "load_matrices") + 2 * column, 2);
  return value;
}

Quad load_four(const char* operation, std::uint32_t row_address, bool transposed) {
  Lane lane;
  lane.word[4] = row_address;
  const Lane taken = test::meet(operation, lane, [transposed](Warp& lanes) {
    for (int l = 0; l < kWarpThreads; ++l) {
      for (int matrix = 0; matrix < 4; ++matrix) {
        const int fixed = l / 4;
        const int pair = l % 4 * 2;
        const std::uint16_t low = transposed ? matrix_element(lanes, matrix, pair, fixed)
                                             : matrix_element(lanes, matrix, fixed, pair);
        const std::uint16_t high = transposed ? matrix_element(lanes, matrix, pair + 1, fixed)
                                              : matrix_element(lanes, matrix, fixed, pair + 1);
        lanes[static_cast<std::size_t>(l)].word[static_cast<std::size_t>(matrix)] =
            low | (static_cast<std::uint32_t>(high) << 16);
      }
    }
  });
  return {taken.word[0], taken.word[1], taken.word[2], taken.word[3]};
}

void land(const std::vector<test::Copy>& copies) {
  for (const test::Copy& copy : copies) {
    unsigned char* to = test::shared_at(copy.to, kChunkBytes, "copy_async");
    if (copy.from == nullptr) {
      std::memset(to, 0, kChunkBytes);
    } else {
      std::memcpy(to, copy.from, kChunkBytes);
    }
  }
}

}  // namespace

int thread_index() { return cta->current; }
int block_index() { return cta->index; }
int block_count() { return cta->launch->ctas; }

void barrier() {
  const std::uint64_t now = cta->barriers;
  const auto alive = std::count_if(cta->threads.begin(), cta->threads.end(),
                                   [](const test::Thread& thread) { return !thread.done; });
  if (++cta->at_barrier == alive) {
    cta->at_barrier = 0;
    ++cta->barriers;
    return;
  }
  test::wait_until([now] { return cta->barriers != now; });
}

void warp_barrier() {
  test::meet("warp_barrier", {}, [](Warp&) {});
}

float shuffle_xor(float value, int mask) {
  Lane lane;
  lane.word[0] = bits_of(value);
  lane.word[1] = static_cast<std::uint32_t>(mask);
  const Lane taken = test::meet("shuffle_xor", lane, [](Warp& lanes) {
    const Warp brought = lanes;
    for (std::size_t l = 0; l < lanes.size(); ++l) {
      lanes[l].word[0] = brought[l ^ brought[l].word[1]].word[0];
    }
  });
  return float_of(taken.word[0]);
}

std::uint32_t shuffle(std::uint32_t value, int source) {
  Lane lane;
  lane.word[0] = value;
  lane.word[1] = static_cast<std::uint32_t>(source);
  return test::meet("shuffle", lane,
                    [](Warp& lanes) {
                      const Warp brought = lanes;
                      for (Lane& l : lanes) l.word[0] = brought.at(l.word[1]).word[0];
                    })
      .word[0];
}

std::uint32_t shuffle_up(std::uint32_t value, int distance) {
  Lane lane;
  lane.word[0] = value;
  lane.word[1] = static_cast<std::uint32_t>(distance);
  return test::meet("shuffle_up", lane,
                    [](Warp& lanes) {
                      const Warp brought = lanes;
                      for (std::size_t l = 0; l < lanes.size(); ++l) {
                        const std::size_t down = brought[l].word[1];
                        if (l >= down) lanes[l].word[0] = brought[l - down].word[0];
                      }
                    })
      .word[0];
}

std::uint32_t ballot(bool holds) {
  Lane lane;
  lane.word[0] = holds ? 1 : 0;
  return test::meet("ballot", lane,
                    [](Warp& lanes) {
                      std::uint32_t bits = 0;
                      for (std::size_t l = 0; l < lanes.size(); ++l) bits |= lanes[l].word[0] << l;
                      for (Lane& l : lanes) l.word[0] = bits;
                    })
      .word[0];
}

int lowest_bit(std::uint32_t bits) { return std::countr_zero(bits); }
int computed_here(int value) { return value; }
std::uint32_t bits_of(float value) { return std::bit_cast<std::uint32_t>(value); }
float float_of(std::uint32_t bits) { return std::bit_cast<float>(bits); }
float largest_of(float a, float b) { return std::fmax(a, b); }
float multiply_add(float a, float b, float c) { return std::fma(a, b, c); }
float power_of_two(float value) { return std::exp2(value); }

template <>
std::uint32_t pack<Bf16>(float low, float high) {
  return packed<Bf16>(low, high);
}
template <>
std::uint32_t pack<Fp16>(float low, float high) {
  return packed<Fp16>(low, high);
}

template <>
std::uint32_t multiply_pair<Bf16>(std::uint32_t a, std::uint32_t b) {
  return packed<Bf16>(half_of(a, 0, Bf16{}) * half_of(b, 0, Bf16{}),
                      half_of(a, 1, Bf16{}) * half_of(b, 1, Bf16{}));
}
template <>
std::uint32_t multiply_pair<Fp16>(std::uint32_t a, std::uint32_t b) {
  return packed<Fp16>(half_of(a, 0, Fp16{}) * half_of(b, 0, Fp16{}),
                      half_of(a, 1, Fp16{}) * half_of(b, 1, Fp16{}));
}

std::uint32_t join_low(std::uint32_t a, std::uint32_t b) { return (a & 0xffffU) | (b << 16); }
std::uint32_t join_high(std::uint32_t a, std::uint32_t b) { return (a >> 16) | (b & 0xffff0000U); }

std::uint32_t shared_base() { return test::kSharedBase; }

std::uint32_t load_shared(std::uint32_t address) {
  std::uint32_t value = 0;
  std::memcpy(&value, test::shared_at(address, 4, "load_shared"), 4);
  return value;
}
Quad load_shared_quad(std::uint32_t address) {
  Quad q{};
  std::memcpy(&q, test::shared_at(address, 16, "load_shared_quad"), 16);
  return q;
}
void store_shared(std::uint32_t address, std::uint32_t value) {
  std::memcpy(test::shared_at(address, 4, "store_shared"), &value, 4);
}
void store_shared_pair(std::uint32_t address, std::uint32_t a, std::uint32_t b) {
  unsigned char* to = test::shared_at(address, 8, "store_shared_pair");
  std::memcpy(to, &a, 4);
  std::memcpy(to + 4, &b, 4);
}
void store_shared_quad(std::uint32_t address, const Quad& q) {
  std::memcpy(test::shared_at(address, 16, "store_shared_quad"), &q, 16);
}

void copy_async(std::uint32_t to, const void* from, bool valid) {
  std::memset(test::shared_at(to, kChunkBytes, "copy_async"), test::kPoisoned, kChunkBytes);
  if (valid && reinterpret_cast<std::uintptr_t>(from) % kChunkBytes != 0) {
    test::fail("copy_async from a misaligned address");
  }
  test::self().copies.push_back({to, valid ? from : nullptr});
}

void commit_copies() {
  test::self().groups.push_back(std::move(test::self().copies));
  test::self().copies.clear();
}

namespace {
void wait_for_all_but(std::size_t pending) {
  auto& groups = test::self().groups;
  while (groups.size() > pending) {
    land(groups.front());
    groups.pop_front();
  }
}
}  // namespace

template <>
void wait_copies<0>() {
  wait_for_all_but(0);
}
template <>
void wait_copies<1>() {
  wait_for_all_but(1);
}
template <>
void wait_copies<2>() {
  wait_for_all_but(2);
}

Quad load_matrices(std::uint32_t row_address) {
  return load_four("load_matrices", row_address, false);
}
Quad load_matrices_transposed(std::uint32_t row_address) {
  return load_four("load_matrices_transposed", row_address, true);
}

namespace {
template <class T>
void multiply_add_fragments(float (&c)[4], const Quad& a, std::uint32_t b0, std::uint32_t b1) {
  Lane lane;
  for (std::size_t i = 0; i < 4; ++i) lane.word[i] = a.word[i];
  lane.word[4] = b0;
  lane.word[5] = b1;
  for (std::size_t i = 0; i < 4; ++i) lane.word[6 + i] = bits_of(c[i]);
  const Lane taken = test::meet("matrix_multiply_add", lane, multiply<T>);
  for (std::size_t i = 0; i < 4; ++i) c[i] = float_of(taken.word[6 + i]);
}
}  // namespace

template <>
void matrix_multiply_add<Bf16>(float (&c)[4], const Quad& a, std::uint32_t b0, std::uint32_t b1) {
  multiply_add_fragments<Bf16>(c, a, b0, b1);
}
template <>
void matrix_multiply_add<Fp16>(float (&c)[4], const Quad& a, std::uint32_t b0, std::uint32_t b1) {
  multiply_add_fragments<Fp16>(c, a, b0, b1);
}

void let_next_kernel_start() {}
void wait_for_previous_kernel() {}

}  // namespace roofcast::kernels::cuda
