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

/// Without VNNI the library adds two products of 8 bits in 16, where they saturate (oneDNN
/// developer guide, "Nuances of int8 Computations").
bool sums_int8_exactly() {
  const auto bits = [](dnnl::cpu_isa isa) { return static_cast<unsigned>(isa); };
  const unsigned vnni = (bits(dnnl::cpu_isa::avx2_vnni) & ~bits(dnnl::cpu_isa::avx2)) |
                        (bits(dnnl::cpu_isa::avx512_core_vnni) & ~bits(dnnl::cpu_isa::avx512_core));
  return (bits(dnnl::get_effective_cpu_isa()) & vnni) != 0;
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
  };

  dnnl::engine engine{dnnl::engine::kind::cpu, 0};
  std::map<Shape, Kernel> kernels{};
  std::vector<Slot> slots{};

  const Kernel& kernel(const Shape& shape) {
    const auto known = kernels.find(shape);
    if (known != kernels.end()) return known->second;
    const dnnl::matmul::primitive_desc description = describe(shape, engine);
    Kernel kernel{.primitive = dnnl::matmul(description),
                  .input = description.src_desc(),
                  .weight = description.weights_desc(),
                  .output = description.dst_desc(),
                  .scratch = description.scratchpad_desc()};
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

  void compute(const Gemm& gemm, const Parts& parts, std::int64_t part);
};

void LibraryGemm::State::compute(const Gemm& gemm, const Parts& parts, std::int64_t part) {
  use_one_thread();
  const Kernel& kernel = kernels.at(shape_of(gemm, parts, part));
  const Slot& slot = slots[static_cast<std::size_t>(part)];
  const std::int64_t row = parts.rows(gemm, part).begin;
  const std::int64_t column = parts.columns(gemm, part).begin;
  const auto memory = [&](const dnnl::memory::desc& description, void* data) {
    return dnnl::memory(description, engine, data);
  };
  std::unordered_map<int, dnnl::memory> arguments{
      {DNNL_ARG_SRC, memory(kernel.input, element_at(gemm.input, gemm.element, row * gemm.k))},
      {DNNL_ARG_WEIGHTS,
       memory(kernel.weight, element_at(gemm.weight, gemm.element, column * gemm.k))},
      {DNNL_ARG_DST,
       memory(kernel.output, element_at(gemm.output, gemm.result, row * gemm.n + column))},
      {DNNL_ARG_SCRATCHPAD, memory(kernel.scratch, slot.scratch.get_data_handle())}};
  float scale = 1;
  if (gemm.element == Element::int8) {
    scale = *gemm.input_scale * *gemm.weight_scale;
    arguments.emplace(
        DNNL_ARG_ATTR_OUTPUT_SCALES,
        memory({{1}, dnnl::memory::data_type::f32, dnnl::memory::format_tag::x}, &scale));
  }
  kernel.primitive.execute(slot.stream, arguments);
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
      const Kernel& kernel = state_->kernel(shape_of(gemm, parts, static_cast<std::int64_t>(part)));
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
  std::atomic<bool> failed{false};  // the pool's functions must not throw
  pool_.for_ranges(parts.split.pieces, 1, [&](std::int64_t begin, std::int64_t end) {
    try {
      for (std::int64_t part = begin; part < end; ++part) state_->compute(gemm, parts, part);
    } catch (const dnnl::error&) {
      failed = true;
    }
  });
  if (failed) throw std::runtime_error("oneDNN failed to execute a matrix product");
}

}  // namespace roofcast::kernels::cpu
