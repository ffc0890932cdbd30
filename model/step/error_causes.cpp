#include "model/step/error_causes.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <utility>
#include <variant>

#include "model/architecture/experts.hpp"
#include "model/cache/kv_cache.hpp"
#include "model/curves/curve_source.hpp"
#include "model/step/version_terms.hpp"

namespace roofcast {

namespace {

/// How far kernel tables err together, one standard deviation: they come from one collection on one
/// machine, and what a table times is not all that a server runs.
struct Together {
  double products = 0;  // and all else but experts
  double experts = 0;
};

// From the TPOT of measured servers that nothing was fitted to, so that eight in ten lie within
// (docs/accuracy.md, "How wide the intervals are"): dense models on H200 0.065 and 0.08 of the
// step; DeepSeek-R1 on B200 and H200 0.10 and 0.13 with SGLang, of which the experts are about 55
// %. Of TensorRT-LLM's tables 0.8 of it, as its own runs need.
constexpr Together kTablesTogether{.products = 0.07, .experts = 0.16};
constexpr Together kTensorRtTogether{.products = 0.056, .experts = 0.128};

// What SGLang runs of a model that nobody has tuned it for is slower than tables of its kernels
// say: the root mean square over eight families of the logarithm of measured over predicted TPOT,
// each family's mean over its runs (sgl-cookbook and dstack, 59 runs on B200, H100 and H200). With
// a family left out 47 of the 59 lie in its intervals (docs/accuracy.md, "How wide the intervals
// are").
constexpr double kOtherMixtures = 0.62;

// The same of TensorRT-LLM, over six models (Llama-4-Scout and Maverick, Qwen3-235B and 30B,
// gpt-oss-120b and 20b; rates of 195 saturated runs of 1.0 and 1.2 on H100, H200, B200, GB200 and
// RTX PRO 6000); 0.10 without gpt-oss-120b, 0.14 to 0.16 without one of the others.
constexpr double kOtherMixturesOfTensorRt = 0.15;

/// Whether an operator's efficiency comes from AITER's timings of its own kernels, as those of
/// AMD's GPUs do where no single kernel answers (`efficiency` of their profiles): one collection
/// that knows of no server, like tables.
bool is_fitted_to_aiter(const OperatorEstimate& op, const Gpu& gpu) {
  const OperatorFamily family = op.work.family;
  return gpu.vendor == "AMD" && !is_cpu(gpu) && op.provenance == Provenance::fitted &&
         (family == OperatorFamily::gemm || family == OperatorFamily::moe);
}

/// Whether kernel tables answered for an operator.
bool is_of_tables(const OperatorEstimate& op) {
  return is_engine(op.source) || op.source == kAiter;
}

/// The standard deviation that the operator shares with all others that its tables answer for.
double deviation_together(const OperatorEstimate& op) {
  const Together& together =
      is_of_engine(op.source, "trtllm") ? kTensorRtTogether : kTablesTogether;
  return op.work.family == OperatorFamily::moe ? together.experts : together.products;
}

/// Without a GPU, of answers of kernel tables alone.
std::vector<ErrorCause> causes_of(const StepEstimate& step, const Gpu* gpu) {
  std::vector<ErrorCause> causes;
  if (step.total.value <= 0) return causes;
  std::map<std::pair<Provenance, OperatorFamily>, Seconds> families;
  Seconds together;
  for (const OperatorEstimate& op : step.operators) {
    families[{op.provenance, op.work.family}] += op.time * op.relative_uncertainty;
    const bool in_common = is_of_tables(op) || (gpu != nullptr && is_fitted_to_aiter(op, *gpu));
    if (in_common) together += op.time * deviation_together(op);
  }
  for (const auto& [kind, deviation] : families) {
    causes.push_back(
        {fmt::format("{} {}", name_of(kind.first), name_of(kind.second)), deviation / step.total});
  }
  causes.push_back({"kernel tables", together / step.total});
  causes.push_back({"host", step.host * kHostUncertainty / step.total});
  std::erase_if(causes, [](const ErrorCause& cause) { return cause.deviation <= 0; });
  return causes;
}

}  // namespace

double model_deviation(const Deployment& deployment) {
  const Transformer& model = deployment.model;
  const std::string& engine = deployment.engine.version;
  const bool tensor_rt = engine.starts_with("trtllm");
  if ((!tensor_rt && !engine.starts_with("sglang")) || is_cpu(deployment.gpu)) return 0;
  const bool other_experts = std::ranges::any_of(model.layers, [&](const Layer& layer) {
    const auto* moe = std::get_if<MoeFfn>(&layer.ffn);
    return moe != nullptr && !is_deepseek_v3(model, *moe);
  });
  if (tensor_rt) return other_experts ? kOtherMixturesOfTensorRt : 0;
  return other_experts || state_bytes_per_sequence(model).value > 0 ? kOtherMixtures : 0;
}

std::vector<ErrorCause> error_causes(const StepEstimate& step) { return causes_of(step, nullptr); }

std::vector<ErrorCause> error_causes(const StepEstimate& step, const Deployment& deployment) {
  std::vector<ErrorCause> causes = causes_of(step, &deployment.gpu);
  const VersionSpread* versions = version_spread(deployment);
  if (step.total.value > 0 && versions != nullptr) {
    causes.push_back({kVersionCause, versions->deviation,
                      fmt::format("{} {}", versions->vendor, versions->engine)});
  }
  const double model = model_deviation(deployment);
  if (step.total.value > 0 && model > 0) {
    const std::string& engine = deployment.engine.version;
    causes.push_back(
        {kModelCause, model,
         fmt::format("{} {}", engine.substr(0, engine.find('-')), deployment.model.name)});
  }
  return causes;
}

}  // namespace roofcast
