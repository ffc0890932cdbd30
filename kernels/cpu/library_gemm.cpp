#include "kernels/cpu/library_gemm.hpp"

#include <omp.h>

#include <algorithm>
#include <atomic>
#include <map>
#include <stdexcept>
#include <unordered_map>
#include <utility>
#include <vector>

#include "kernels/check.hpp"
#include "kernels/cpu/late_onednn.hpp"
#include "kernels/cpu/widened.hpp"

namespace roofcast::kernels::cpu {
namespace {

/// Part of a product: all of k for some rows and columns.
struct Shape {
  Element element = Element::fp32;
  Element result = Element::fp32;
  std::int64_t m = 0;
  std::int64_t n = 0;
  std::int64_t k = 0;
  std::int64_t output_stride = 0;

  auto operator<=>(const Shape&) const = default;
};

/// A compiled kernel.
struct Kernel {
  dnnl::matmul primitive;
  dnnl::memory::desc input, weight, output, scratch;
  bool scaled = false;
};

dnnl::memory::data_type type_of(Element element) {
  switch (element) {
    case Element::fp32:
      return dnnl::memory::data_type::f32;
    case Element::fp16:
      return dnnl::memory::data_type::f16;
    case Element::bf16:
      return dnnl::memory::data_type::bf16;
    case Element::int8:
      return dnnl::memory::data_type::s8;
    case Element::fp8_e4m3:  // unknown to oneDNN 2
      break;
  }
  return dnnl::memory::data_type::undef;
}

/// Makes oneDNN use one thread, the calling one.
void use_one_thread() {
  thread_local const bool done = (omp_set_num_threads(1), true);
  static_cast<void>(done);
}

/// Throws dnnl::error if the library cannot compute it.
dnnl::matmul::primitive_desc describe(const Shape& shape, const dnnl::engine& engine) {
  use_one_thread();
  using Desc = dnnl::memory::desc;
  const Desc input({shape.m, shape.k}, type_of(shape.element), dnnl::memory::dims{shape.k, 1});
  const Desc weight({shape.k, shape.n}, type_of(shape.element), dnnl::memory::dims{1, shape.k});
  const Desc output({shape.m, shape.n}, type_of(shape.result),
                    dnnl::memory::dims{shape.output_stride, 1});
  dnnl::primitive_attr attributes;
  attributes.set_scratchpad_mode(dnnl::scratchpad_mode::user);
  if (shape.element == Element::int8) attributes.set_output_scales(0, {DNNL_RUNTIME_F32_VAL});
  return {dnnl::matmul::desc(input, weight, output), attributes, engine};
}

/// Whether the library uses what `isa` adds to `base` here.
bool runs(dnnl::cpu_isa isa, dnnl::cpu_isa base) {
  const auto bits = [](dnnl::cpu_isa one) { return static_cast<unsigned>(one); };
  return (bits(dnnl::get_effective_cpu_isa()) & bits(isa) & ~bits(base)) != 0;
}

/// Whether a product of 16 bits is computed in 32, the weight widened a few columns at a time: the
/// library knows no fp16, and multiplies bf16 by instructions that it emulates where the processor
/// has none (3.3 times as long as fp32 on a Cascade Lake, 512 rows of 4096 x 4096).
bool is_widened(Element element) {
  if (element == Element::fp16) return true;
  return element == Element::bf16 &&
         !runs(dnnl::cpu_isa::avx512_core_bf16, dnnl::cpu_isa::avx512_core_vnni);
}

/// Columns of a weight of `k` inputs that are widened at a time: enough that the library's packing
/// of the input, once for each group, is little of the work; at most 4 MiB of floats but for very
/// long columns, since each thread has its own.
std::int64_t widened_columns(std::int64_t k) {
  constexpr std::int64_t kFloats = 1 << 20;
  constexpr std::int64_t kMin = 64;
  constexpr std::int64_t kMax = 512;
  return std::clamp(kFloats / k, kMin, kMax);
}

/// How the pool's threads divide a product: ranges of its columns, or of its rows.
struct Parts {
  bool of_rows = false;
  Split split{};

  Range rows(const Gemm& gemm, std::int64_t part) const {
    return of_rows ? piece(split, part) : Range{.begin = 0, .end = gemm.m};
  }
  Range columns(const Gemm& gemm, std::int64_t part) const {
    return of_rows ? Range{.begin = 0, .end = gemm.n} : piece(split, part);
  }
};

/// Ranges long enough for the library's own blocks. Columns first, so that each thread reads its
/// own part of the weight.
Parts parts_of(const Gemm& gemm, int threads) {
  constexpr std::int64_t kBlock = 64;
  const bool by_columns = gemm.n >= kBlock * threads || gemm.n >= gemm.m;
  return {.of_rows = !by_columns, .split = split(by_columns ? gemm.n : gemm.m, kBlock, threads)};
}

Shape shape_of(const Gemm& gemm, const Parts& parts, std::int64_t part) {
  const Range rows = parts.rows(gemm, part);
  const Range columns = parts.columns(gemm, part);
  return {.element = gemm.element,
          .result = gemm.result,
          .m = rows.end - rows.begin,
          .n = columns.end - columns.begin,
          .k = gemm.k,
          .output_stride = gemm.n};
}

std::vector<Range> widened_groups(const Range& columns, std::int64_t k) {
  std::vector<Range> groups;
  const std::int64_t width = widened_columns(k);
  for (std::int64_t begin = columns.begin; begin < columns.end; begin += width) {
    groups.push_back({.begin = begin, .end = std::min(begin + width, columns.end)});
  }
  return groups;
}

/// A group of columns of a widened product, whose result is one after the other.
Shape widened_shape(const Gemm& gemm, const Range& rows, const Range& columns) {
  return {.m = rows.end - rows.begin,
          .n = columns.end - columns.begin,
          .k = gemm.k,
          .output_stride = columns.end - columns.begin};
}

/// Without VNNI the library adds two products of 8 bits in 16, where they saturate (oneDNN
/// developer guide, "Nuances of int8 Computations").
bool sums_int8_exactly() {
  return runs(dnnl::cpu_isa::avx2_vnni, dnnl::cpu_isa::avx2) ||
         runs(dnnl::cpu_isa::avx512_core_vnni, dnnl::cpu_isa::avx512_core);
}

void* element_at(const void* tensor, Element element, std::int64_t index) {
  const auto* bytes = static_cast<const char*>(tensor);
  return const_cast<char*>(bytes) + index * static_cast<std::int64_t>(size_of(element));
}

}  // namespace

struct LibraryGemm::State {
  /// Token counts vary from step to step, so kernels compiled for old ones are dropped.
  static constexpr std::size_t kMaxKernels = 1024;

  /// What concurrent parts must not share; all shapes share it.
  struct Slot {
    dnnl::stream stream;
    dnnl::memory scratch;
    std::vector<float> weight{}, output{};  // of widened products
  };

  dnnl::engine engine{dnnl::engine::kind::cpu, 0};
  std::map<Shape, Kernel> kernels{};
  std::vector<Slot> slots{};
  std::vector<float> input{};  // of widened products

  const Kernel& kernel(const Shape& shape) {
    const auto known = kernels.find(shape);
    if (known != kernels.end()) return known->second;
    const dnnl::matmul::primitive_desc description = describe(shape, engine);
    Kernel kernel{.primitive = dnnl::matmul(description),
                  .input = description.src_desc(),
                  .weight = description.weights_desc(),
                  .output = description.dst_desc(),
                  .scratch = description.scratchpad_desc(),
                  .scaled = shape.element == Element::int8};
    return kernels.emplace(shape, std::move(kernel)).first->second;
  }

  dnnl::memory bytes(std::size_t size) const {
    return {{{static_cast<dnnl::memory::dim>(size)},
             dnnl::memory::data_type::u8,
             dnnl::memory::format_tag::x},
            engine};
  }

  void reserve(std::size_t slot, std::size_t scratch) {
    if (slot == slots.size()) slots.push_back({dnnl::stream(engine), bytes(scratch)});
    dnnl::memory& memory = slots[slot].scratch;
    if (memory.get_desc().get_size() < scratch) memory = bytes(scratch);
  }

  /// What a part's operands and result are, from its first row and column on.
  struct Operands {
    const void* input;
    const void* weight;
    void* output;
  };
  void execute(const Kernel& kernel, const Slot& slot, const Operands& operands, float scale);
  void prepare_widened(const Gemm& gemm, const Parts& parts, std::int64_t part);
  void compute(const Gemm& gemm, const Parts& parts, std::int64_t part);
  void compute_widened(const Gemm& gemm, const Parts& parts, std::int64_t part);
};

void LibraryGemm::State::execute(const Kernel& kernel, const Slot& slot, const Operands& operands,
                                 float scale) {
  const auto memory = [&](const dnnl::memory::desc& description, const void* data) {
    return dnnl::memory(description, engine, const_cast<void*>(data));
  };
  std::unordered_map<int, dnnl::memory> arguments{
      {DNNL_ARG_SRC, memory(kernel.input, operands.input)},
      {DNNL_ARG_WEIGHTS, memory(kernel.weight, operands.weight)},
      {DNNL_ARG_DST, memory(kernel.output, operands.output)},
      {DNNL_ARG_SCRATCHPAD, memory(kernel.scratch, slot.scratch.get_data_handle())}};
  if (kernel.scaled) {
    arguments.emplace(
        DNNL_ARG_ATTR_OUTPUT_SCALES,
        memory({{1}, dnnl::memory::data_type::f32, dnnl::memory::format_tag::x}, &scale));
  }
  kernel.primitive.execute(slot.stream, arguments);
}

void LibraryGemm::State::compute(const Gemm& gemm, const Parts& parts, std::int64_t part) {
  use_one_thread();
  const std::int64_t row = parts.rows(gemm, part).begin;
  const std::int64_t column = parts.columns(gemm, part).begin;
  const float scale = gemm.element == Element::int8 ? *gemm.input_scale * *gemm.weight_scale : 1;
  execute(kernels.at(shape_of(gemm, parts, part)), slots[static_cast<std::size_t>(part)],
          {.input = element_at(gemm.input, gemm.element, row * gemm.k),
           .weight = element_at(gemm.weight, gemm.element, column * gemm.k),
           .output = element_at(gemm.output, gemm.result, row * gemm.n + column)},
          scale);
}

void LibraryGemm::State::prepare_widened(const Gemm& gemm, const Parts& parts, std::int64_t part) {
  const Range rows = parts.rows(gemm, part);
  const auto slot = static_cast<std::size_t>(part);
  const std::vector<Range> groups = widened_groups(parts.columns(gemm, part), gemm.k);
  for (const Range& columns : groups) {
    reserve(slot, kernel(widened_shape(gemm, rows, columns)).scratch.get_size());
  }
  const std::int64_t widest = groups.front().end - groups.front().begin;
  const auto at_least = [](std::vector<float>& floats, std::int64_t count) {
    if (std::ssize(floats) < count) floats.resize(static_cast<std::size_t>(count));
  };
  at_least(slots[slot].weight, widest * gemm.k);
  at_least(slots[slot].output, widest * (rows.end - rows.begin));
  at_least(input, gemm.m * gemm.k);
}

void LibraryGemm::State::compute_widened(const Gemm& gemm, const Parts& parts, std::int64_t part) {
  use_one_thread();
  Slot& slot = slots[static_cast<std::size_t>(part)];
  const Range rows = parts.rows(gemm, part);
  for (const Range& columns : widened_groups(parts.columns(gemm, part), gemm.k)) {
    const std::int64_t count = columns.end - columns.begin;
    widen(slot.weight.data(), element_at(gemm.weight, gemm.element, columns.begin * gemm.k),
          gemm.element, count * gemm.k);
    execute(kernels.at(widened_shape(gemm, rows, columns)), slot,
            {.input = input.data() + rows.begin * gemm.k,
             .weight = slot.weight.data(),
             .output = slot.output.data()},
            1);
    for (std::int64_t row = rows.begin; row < rows.end; ++row) {
      const float* from = slot.output.data() + (row - rows.begin) * count;
      void* to = element_at(gemm.output, gemm.result, row * gemm.n + columns.begin);
      if (gemm.result == Element::fp32) {
        std::copy_n(from, count, static_cast<float*>(to));
      } else {
        narrow(to, from, gemm.result, count);
      }
    }
  }
}

LibraryGemm::LibraryGemm(ThreadPool& pool) : pool_(pool) {
  try {
    onednn();
  } catch (const std::runtime_error&) {
    return;  // not installed: as if the program were built without it
  }
  state_ = std::make_unique<State>();
}
LibraryGemm::~LibraryGemm() = default;

std::string LibraryGemm::name() const { return state_ ? "oneDNN " + version() : ""; }

std::string LibraryGemm::version() const {
  if (!state_) return "";
  const dnnl_version_t* version = dnnl_version();
  return std::to_string(version->major) + "." + std::to_string(version->minor) + "." +
         std::to_string(version->patch);
}

bool LibraryGemm::supports(const Gemm& gemm) const {
  if (!state_) return false;
  if (gemm.element == Element::int8 && !sums_int8_exactly()) return false;
  Gemm some = gemm;
  some.m = std::max<std::int64_t>(1, gemm.m);
  if (is_widened(gemm.element)) some.element = some.result = Element::fp32;
  try {
    describe(shape_of(some, parts_of(some, pool_.threads()), 0), state_->engine);
    return true;
  } catch (const dnnl::error&) {
    return false;
  }
}

void LibraryGemm::prepare(const Gemm& gemm) {
  check(gemm);
  if (!state_) throw std::invalid_argument("GEMM: oneDNN is not installed");
  if (gemm.m == 0) return;
  const Parts parts = parts_of(gemm, pool_.threads());
  const auto pieces = static_cast<std::size_t>(parts.split.pieces);
  if (state_->kernels.size() + pieces > State::kMaxKernels) state_->kernels.clear();
  try {
    for (std::size_t part = 0; part < pieces; ++part) {
      const auto index = static_cast<std::int64_t>(part);
      if (is_widened(gemm.element)) {
        state_->prepare_widened(gemm, parts, index);
        continue;
      }
      const Kernel& kernel = state_->kernel(shape_of(gemm, parts, index));
      state_->reserve(part, kernel.scratch.get_size());
    }
  } catch (const dnnl::error& error) {
    throw std::invalid_argument(std::string("GEMM: oneDNN cannot compute this: ") + error.what());
  }
}

void LibraryGemm::launch(const Gemm& gemm) {
  prepare(gemm);
  if (gemm.m == 0) return;
  const Parts parts = parts_of(gemm, pool_.threads());
  const bool widened = is_widened(gemm.element);
  if (widened) {
    pool_.for_ranges(gemm.m, 1, [&](std::int64_t begin, std::int64_t end) {
      widen(state_->input.data() + begin * gemm.k,
            element_at(gemm.input, gemm.element, begin * gemm.k), gemm.element,
            (end - begin) * gemm.k);
    });
  }
  std::atomic<bool> failed{false};  // the pool's functions must not throw
  pool_.for_ranges(parts.split.pieces, 1, [&](std::int64_t begin, std::int64_t end) {
    try {
      for (std::int64_t part = begin; part < end; ++part) {
        if (widened) {
          state_->compute_widened(gemm, parts, part);
        } else {
          state_->compute(gemm, parts, part);
        }
      }
    } catch (const dnnl::error&) {
      failed = true;
    }
  });
  if (failed) throw std::runtime_error("oneDNN failed to execute a matrix product");
}

}  // namespace roofcast::kernels::cpu
