// Binds a mixture of experts from chosen pairs to the weighted sum: gather, into the experts,
// activation, out of the experts, combine. Weights are cold: if a call reads few of many experts,
// each copy picks different ones.
#include <algorithm>
#include <cmath>
#include <memory>
#include <numeric>

#include "calibrate/bind.hpp"
#include "calibrate/random_order.hpp"

namespace roofcast {

namespace {

constexpr double kSkew = 1.2;

// Slots of scratch memory.
enum Slot { kGathered, kInner, kActivated, kOuter, kOutput };

/// One assignment of experts to all tokens, on the device.
struct DeviceRouting {
  kernels::Memory first_row{};
  kernels::Memory source{};
  kernels::Memory place{};
};

/// All launches of a call, except routing and weights.
struct ExpertCall {
  kernels::GatherRows gather{};
  kernels::GroupedGemm in{};
  kernels::Activation activation{};
  kernels::GroupedGemm out{};
  kernels::Combine combine{};
};

ExpertCall make_call(Operands& operands, const CalibrationCase& c) {
  const kernels::Element element = experts_in_of(c).element;
  const auto tokens = static_cast<std::int64_t>(c.x);
  ExpertCall call{.in = experts_in_of(c), .out = experts_out_of(c)};
  const double rows = static_cast<double>(call.in.rows);
  const int hidden = call.in.k;
  const int width = call.out.k;
  call.gather = {.element = element,
                 .rows = call.in.rows,
                 .hidden = hidden,
                 .input = operands.warm(element, bytes_of(element, c.x * hidden)),
                 .output = operands.scratch(kGathered, bytes_of(element, rows * hidden))};
  call.in.input = call.gather.output;
  call.in.output = operands.scratch(kInner, bytes_of(element, rows * call.in.n));
  call.activation = {
      .kind = c.shape.gated ? kernels::ActivationKind::silu_mul : kernels::ActivationKind::gelu,
      .element = element,
      .rows = call.in.rows,
      .width = width,
      .input = call.in.output,
      .output = operands.scratch(kActivated, bytes_of(element, rows * width))};
  call.out.input = call.activation.output;
  call.out.output = operands.scratch(kOuter, bytes_of(element, rows * hidden));
  call.combine = {.element = element,
                  .tokens = tokens,
                  .top_k = static_cast<int>(c.shape.experts_per_token),
                  .hidden = hidden,
                  .input = call.out.output,
                  .weight = static_cast<const float*>(
                      operands.warm(kernels::Element::fp32, rows * sizeof(float))),
                  .output = operands.scratch(kOutput, bytes_of(element, c.x * hidden))};
  return call;
}

void set_routing(ExpertCall& call, const DeviceRouting& routing) {
  call.gather.row = routing.source.as<std::int32_t>();
  call.in.first_row = routing.first_row.as<std::int32_t>();
  call.out.first_row = routing.first_row.as<std::int32_t>();
  call.combine.place = routing.place.as<std::int32_t>();
}

kernels::GroupedGemm grouped(const CalibrationCase& c, std::int64_t n, std::int64_t k) {
  return {.element = plain_element(c.shape.format).value_or(c.element),
          .experts = static_cast<int>(c.shape.experts),
          .rows = static_cast<std::int64_t>(c.x) * c.shape.experts_per_token,
          .n = static_cast<int>(n),
          .k = static_cast<int>(k)};
}

/// Draws `count` distinct experts into `picked`, each with a probability proportional to its
/// weight.
void draw_experts(std::vector<double> weights, int count, RandomStream& random,
                  std::vector<std::int32_t>& picked) {
  picked.clear();
  for (int i = 0; i < count; ++i) {
    const double all = std::accumulate(weights.begin(), weights.end(), 0.0);
    double left = random.uniform() * all;
    std::size_t expert = 0;
    while (expert + 1 < weights.size() && (left >= weights[expert] || weights[expert] == 0)) {
      left -= weights[expert++];
    }
    weights[expert] = 0;
    picked.push_back(static_cast<std::int32_t>(expert));
  }
}

}  // namespace

ExpertPairs pick_experts(std::int64_t tokens, int experts, int experts_per_token, bool skewed,
                         std::uint64_t seed) {
  RandomStream random(seed);
  std::vector<double> weights(static_cast<std::size_t>(experts), 1.0);
  for (std::size_t i = 0; skewed && i < weights.size(); ++i) {
    weights[i] = std::pow(static_cast<double>(i + 1), -kSkew);
  }
  std::vector<std::vector<std::int32_t>> pairs_of(weights.size());  // pairs, numbered token * k +
                                                                    // choice
  std::vector<std::int32_t> picked;
  for (std::int64_t token = 0; token < tokens; ++token) {
    draw_experts(weights, experts_per_token, random, picked);
    for (std::size_t j = 0; j < picked.size(); ++j) {
      const auto pair = token * experts_per_token + static_cast<std::int64_t>(j);
      pairs_of[static_cast<std::size_t>(picked[j])].push_back(static_cast<std::int32_t>(pair));
    }
  }
  ExpertPairs result;
  result.place.resize(static_cast<std::size_t>(tokens * experts_per_token));
  for (const std::vector<std::int32_t>& pairs : pairs_of) {
    result.first_row.push_back(static_cast<std::int32_t>(result.source.size()));
    result.experts_used += pairs.empty() ? 0 : 1;
    for (const std::int32_t pair : pairs) {
      result.place[static_cast<std::size_t>(pair)] =
          static_cast<std::int32_t>(result.source.size());
      result.source.push_back(pair / experts_per_token);
    }
  }
  result.first_row.push_back(static_cast<std::int32_t>(result.source.size()));
  return result;
}

kernels::GroupedGemm experts_in_of(const CalibrationCase& c) {
  return grouped(c, (c.shape.gated ? 2 : 1) * c.shape.outputs, c.shape.inputs);
}

kernels::GroupedGemm experts_out_of(const CalibrationCase& c) {
  return grouped(c, c.shape.inputs, c.shape.outputs);
}

BoundCase bind_experts(Operands& operands, const CalibrationCase& c) {
  kernels::Backend& backend = operands.backend();
  const ExpertCall call = make_call(operands, c);
  const bool skewed = c.role == CaseRole::check;
  const auto tokens = static_cast<std::int64_t>(c.x);
  const auto pick = [&](int copy) {
    return pick_experts(tokens, call.in.experts, call.combine.top_k, skewed,
                        static_cast<std::uint64_t>(copy));
  };
  const double in_bytes =
      bytes_of(call.in.element, static_cast<double>(call.in.n) * call.in.k * call.in.experts);
  const double out_bytes =
      bytes_of(call.out.element, static_cast<double>(call.out.n) * call.out.k * call.out.experts);
  const double used = pick(0).experts_used;
  const double cold_bytes = (in_bytes + out_bytes) * used / call.in.experts;
  const int copies = operands.copies_for(cold_bytes);
  const ColdCopies weights = operands.cold(call.in.element, in_bytes + out_bytes);

  auto routings = std::make_shared<std::vector<DeviceRouting>>();
  for (int copy = 0; copy < copies; ++copy) {
    const ExpertPairs pairs = pick(copy);
    routings->push_back({.first_row = uploaded(backend, pairs.first_row),
                         .source = uploaded(backend, pairs.source),
                         .place = uploaded(backend, pairs.place)});
  }
  const auto out_offset = static_cast<std::size_t>(in_bytes);
  return {
      .work = {.copies = copies,
               .launch =
                   [&backend, call, weights, routings, out_offset, source = c.source](int copy) {
                     ExpertCall now = call;
                     set_routing(now, (*routings)[static_cast<std::size_t>(copy)]);
                     auto* matrix = static_cast<std::byte*>(weights.at(copy % weights.count));
                     now.in.weight = matrix;
                     now.out.weight = matrix + out_offset;
                     backend.launch(now.gather);
                     backend.launch(now.in, source);
                     backend.launch(now.activation);
                     backend.launch(now.out, source);
                     backend.launch(now.combine);
                   }},
      .owned = {},
      .cold_bytes = cold_bytes};
}

}  // namespace roofcast
