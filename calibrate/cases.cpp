#include "calibrate/cases.hpp"

#include <algorithm>
#include <cmath>
#include <set>

#include "base/units.hpp"
#include "calibrate/bind.hpp"
#include "calibrate/case_builder.hpp"
#include "calibrate/case_grid.hpp"
#include "calibrate/extent.hpp"

namespace roofcast {

using kernels::Element;

namespace {

// Sizes of copies, from fully cached to never cached.
constexpr double kMinCopyBytes = 1e6;
constexpr double kMaxCopyBytes = 2e9;
constexpr double kMaxCopyBytesOnCpu = 1e9;  // its last cache may be as large, and shared by many
                                            // cores
constexpr int kCopiesBeyondCache = 8;

// The GEMM of the drift series: large enough to draw full power on a GPU, short on a CPU.
constexpr std::int64_t kSentinelGpu = 4096;
constexpr std::int64_t kSentinelCpu = 512;

// Approximate minimum time of a launch and a pass through memory on any device.
constexpr double kRoughFloor = 5e-6;

/// Bytes per cached token.
double entry_bytes(const OperatorShape& shape) {
  return shape_work(shape, 1, 1, 1).stored_bytes.value;
}

}  // namespace

std::optional<Element> element_of(DType dtype) {
  switch (dtype) {
    case DType::fp32:
      return Element::fp32;
    case DType::fp16:
      return Element::fp16;
    case DType::bf16:
      return Element::bf16;
    default:
      return std::nullopt;
  }
}

std::vector<Element> usual_elements(const kernels::Backend& backend) {
  if (is_cpu(backend.facts())) return {Element::fp32, Element::bf16};
  return {Element::bf16};
}

void CaseBuilder::add(CalibrationCase c) {
  for (const auto& [source, kernel] : backend_.sources(kernel_family(c, backend_))) {
    c.source = source;
    c.kernel = kernel;
    cases_.push_back(c);
    if (!limits_.every_source) return;
  }
  if (!c.kernel.empty()) return;
  cases_.push_back(std::move(c));  // without kernels runnable() lists it as untimed
}

/// All sources of a family are timed at the same sizes, so that each size has a fastest one.
kernels::RowForm CaseBuilder::row_form(kernels::KernelFamily family) const {
  for (const auto& [source, kernel] : backend_.sources(family)) {
    const kernels::RowForm form = backend_.row_form(family, source);
    if (form.tile > 0) return form;
  }
  return {};
}

void CaseBuilder::add_gemm(const OperatorShape& shape, Element activation,
                           std::int64_t max_tokens) {
  const kernels::RowForm form =
      row_form(kernel_family({.shape = shape, .element = activation}, backend_));
  for (const auto& [tokens, pass] : gemm_axis(max_tokens, form)) {
    add({.kind = CaseKind::gemm,
         .shape = shape,
         .x = static_cast<double>(tokens),
         .element = activation,
         .pass = pass});
  }
}

void CaseBuilder::add_experts(const OperatorShape& shape, Element activation) {
  for (const auto& [tokens, pass] : token_axis(limits_.max_tokens)) {
    CalibrationCase c{.kind = CaseKind::moe,
                      .shape = shape,
                      .x = static_cast<double>(tokens),
                      .element = activation,
                      .pass = pass};
    add(c);
    if (pass > 0) continue;
    c.role = CaseRole::check;  // power-law routing
    c.pass = kPasses - 1;
    add(c);
  }
}

void CaseBuilder::add_decode(const OperatorShape& shape, Element activation) {
  const double max_tokens = limits_.cached_bytes / entry_bytes(shape);
  for (const auto& [sequences, context, pass] :
       decode_grid(limits_.max_sequences, limits_.longest_context, max_tokens)) {
    CalibrationCase c{.kind = CaseKind::decode_attention,
                      .shape = shape,
                      .x = static_cast<double>(sequences),
                      .y = static_cast<double>(context),
                      .element = activation,
                      .pass = pass};
    add(c);
    // Checks that the sum of the lengths is a sufficient axis, where splitting matters most: few
    // sequences, one of them long.
    if (pass > 0 || sequences < 2) continue;
    c.role = CaseRole::check;
    c.pass = kPasses - 1;
    add(c);
  }
}

void CaseBuilder::add_prefill(const OperatorShape& shape, Element activation) {
  for (const auto& [tokens, cached, pass] :
       prefill_grid(limits_.max_tokens, limits_.longest_context)) {
    if (entry_bytes(shape) * static_cast<double>(tokens + cached) > limits_.cached_bytes) continue;
    add({.kind = CaseKind::prefill_attention,
         .shape = shape,
         .x = static_cast<double>(tokens),
         .y = static_cast<double>(cached),
         .element = activation,
         .pass = pass});
  }
}

void CaseBuilder::add_token_operator(CaseKind kind, const std::string& name, TokenSizes sizes,
                                     double bytes_each, std::int64_t max_tokens) {
  for (const auto& [tokens, pass] : token_axis(max_tokens)) {
    sizes.tokens = tokens;
    add({.kind = kind,
         .shape = {.family = OperatorFamily::memory_bound, .name = name},
         .x = static_cast<double>(tokens) * bytes_each,
         .element = sizes.element,
         .sizes = sizes,
         .pass = pass});
  }
}

std::vector<CalibrationCase> ceiling_cases(const kernels::Backend& backend,
                                           double memory_limit_bytes) {
  CaseBuilder builder(backend, {.every_source = false});
  builder.add({.kind = CaseKind::nothing, .role = CaseRole::ceiling});
  const double cache = static_cast<double>(backend.facts().cache_bytes);
  const double max =
      std::min({is_cpu(backend.facts()) ? kMaxCopyBytesOnCpu : kMaxCopyBytes,
                memory_limit_bytes / 4, std::max(kCopiesBeyondCache * cache, 64 * kMinCopyBytes)});
  double bytes = max;
  while (bytes >= kMinCopyBytes) {
    builder.add({.kind = CaseKind::copy,
                 .role = CaseRole::ceiling,
                 .x = std::floor(bytes / 512) * 512});  // both halves aligned to 256
    bytes /= 8;
  }
  return builder.take();
}

CalibrationCase sentinel_case(const kernels::Backend& backend) {
  const std::int64_t side = is_cpu(backend.facts()) ? kSentinelCpu : kSentinelGpu;
  const Element element = usual_elements(backend).front();
  CaseBuilder builder(backend, {.every_source = false});
  builder.add({.kind = CaseKind::gemm,
               .role = CaseRole::sentinel,
               .shape = {.family = OperatorFamily::gemm,
                         .format = std::string(kernels::name_of(element)),
                         .outputs = side,
                         .inputs = side},
               .x = static_cast<double>(side),
               .element = element});
  return builder.take().front();
}

std::vector<CalibrationCase> runnable(std::vector<CalibrationCase> cases,
                                      const kernels::Backend& backend,
                                      std::vector<std::string>& untimed) {
  std::vector<CalibrationCase> result;
  std::set<std::string> names;
  for (CalibrationCase& c : cases) {
    if (!can_run(backend, c)) {
      const std::string shape = shape_name(c);
      if (std::find(untimed.begin(), untimed.end(), shape) == untimed.end()) {
        untimed.push_back(shape);
      }
    } else if (names.insert(name_of(c)).second) {
      result.push_back(std::move(c));
    }
  }
  // A shape that one source cannot compute may be timed with another.
  std::set<std::string> timed;
  for (const CalibrationCase& c : result) timed.insert(shape_name(c));
  std::erase_if(untimed, [&](const std::string& shape) { return timed.contains(shape); });
  std::stable_sort(
      result.begin(), result.end(),
      [](const CalibrationCase& a, const CalibrationCase& b) { return a.pass < b.pass; });
  return result;
}

double rough_call_s(const CalibrationCase& c, const RoughRates& rates) {
  double flops = 0;
  double bytes = c.x;
  if (c.role == CaseRole::curve || c.role == CaseRole::check) {
    const ShapeWork work = shape_work(c.shape, c.x, c.y, 1);
    flops = work.flops.value;
    bytes = work.bytes.value;
  }
  return kRoughFloor + std::max(flops / rates.flops_per_s, bytes / rates.bytes_per_s);
}

}  // namespace roofcast
