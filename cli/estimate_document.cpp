#include "cli/estimate_document.hpp"

#include <fmt/format.h>

#include <cmath>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/numbers.hpp"
#include "base/wording.hpp"
#include "model/memory/memory_plan.hpp"
#include "model/step/generation_estimate.hpp"
#include "roofcast/deployment_description.hpp"
#include "roofcast/envelope.hpp"
#include "roofcast/step_description.hpp"

namespace roofcast {
namespace {

struct NamedOptions {
  std::string name;
  DeploymentOptions options;
};

/// The deployment as it is, and in other number formats.
std::vector<NamedOptions> formats(const DeploymentOptions& options) {
  std::vector<NamedOptions> result{{"as asked", options}};
  for (const char* format : {"bf16", "fp8", "awq"}) {
    DeploymentOptions changed = options;
    changed.weight_format = format;
    result.push_back({fmt::format("{} weights", format), changed});
  }
  DeploymentOptions cache = options;
  cache.overrides.kv_cache_dtype = DType::fp8;
  result.push_back({"fp8 KV cache", cache});
  cache.weight_format = "fp8";
  result.push_back({"fp8 weights and KV cache", cache});
  return result;
}

std::string change(Seconds before, Seconds after) {
  const double percent = std::round((after / before - 1.0) * 100.0);
  return percent == 0 ? "0 %" : fmt::format("{:+.0f} %", percent);
}

void add_variants(Document& document, const DeploymentOptions& options,
                  const EstimateQuestion& question) {
  Table table{.title = "What another number format would do",
              .columns = {{"Format", false},
                          {"Prefill"},
                          {""},
                          {"Decode step"},
                          {""},
                          {"Weights/GPU"},
                          {"KV cache/GPU"}},
              .rows = {}};
  const std::vector<NamedOptions> named = formats(options);
  std::vector<Deployment> deployments;
  deployments.reserve(named.size());
  for (const NamedOptions& variant : named) {
    deployments.push_back(resolve(variant.options).deployment);
  }
  const std::vector<DTypeVariant> variants =
      compare_dtypes(deployments, question.batch, question.input_tokens, question.output_tokens);
  Json rows = Json::array();
  for (std::size_t i = 0; i < variants.size(); ++i) {
    const DTypeVariant& variant = variants[i];
    table.rows.push_back({named[i].name, as_time(variant.prefill_time),
                          change(variants[0].prefill_time, variant.prefill_time),
                          as_time(variant.decode_step),
                          change(variants[0].decode_step, variant.decode_step),
                          as_gib(variant.weight_bytes), as_gib(variant.cache_bytes)});
    rows.push_back({{"name", named[i].name},
                    {"prefill_s", variant.prefill_time.value},
                    {"decode_step_s", variant.decode_step.value},
                    {"weight_bytes_per_gpu", variant.weight_bytes.value},
                    {"kv_cache_bytes_per_gpu", variant.cache_bytes.value}});
  }
  document.machine["variants"] = std::move(rows);
  document.sections.push_back({.heading = "", .lines = {}, .table = std::move(table)});
}

Table answer_table(const GenerationEstimate& estimate) {
  Table table{.title = "", .columns = {{"", false}, {""}, {"", false}}, .rows = {}};
  auto row = [&](const char* name, const std::string& value, const std::string& remark) {
    table.rows.push_back({name, value, remark});
  };
  auto source = [](const StepEstimate& step) {
    return fmt::format("±{} ({})", as_percent(step.relative_uncertainty, 0),
                       describe_provenance(step));
  };
  row("prefill", as_time(estimate.prefill_time), source(estimate.prefill));
  row("decode step, mean", as_time(estimate.decode_step), source(estimate.decode));
  row("output tokens/s", fixed(estimate.output_tokens_per_second, 1), "prefill included");
  row("decode tokens/s", fixed(estimate.decode_tokens_per_second, 1), "once prefilled");
  row("MFU of prefill", as_percent(estimate.mfu_prefill), "of the dense peak");
  row("MBU of decode", as_percent(estimate.mbu_decode), "of the memory bandwidth");
  row("ridge point", fixed(estimate.ridge.value, 1), "FLOP/byte");
  row("decode turns compute-bound",
      estimate.compute_bound_batch ? with_separators(*estimate.compute_bound_batch) : "never",
      "sequences at once");
  return table;
}

void add_numbers(Json& json, const GenerationEstimate& estimate) {
  json["prefill_s"] = estimate.prefill_time.value;
  json["decode_step_s"] = estimate.decode_step.value;
  json["output_tokens_per_s"] = estimate.output_tokens_per_second;
  json["decode_tokens_per_s"] = estimate.decode_tokens_per_second;
  json["mfu"] = estimate.mfu_prefill;
  json["mbu"] = estimate.mbu_decode;
  json["ridge_flops_per_byte"] = estimate.ridge.value;
  json["compute_bound_batch"] =
      estimate.compute_bound_batch ? Json(*estimate.compute_bound_batch) : Json(nullptr);
  json["prefill_relative_uncertainty"] = estimate.prefill.relative_uncertainty;
  json["decode_relative_uncertainty"] = estimate.decode.relative_uncertainty;
  json["host_s"] = {{"prefill", estimate.prefill.host.value},
                    {"decode", estimate.decode.host.value}};
  json["operators"] = {{"prefill", operators_json(estimate.prefill)},
                       {"decode", operators_json(estimate.decode)}};
}

}  // namespace

Document estimate_document(const DeploymentOptions& options, const EstimateQuestion& question) {
  const Deployment deployment = resolve(options).deployment;
  const GenerationEstimate estimate = estimate_generation(
      deployment, question.batch, question.input_tokens, question.output_tokens);
  Json inputs = describe(deployment);
  inputs["batch"] = question.batch;
  inputs["input_tokens"] = question.input_tokens;
  inputs["output_tokens"] = question.output_tokens;
  Document document{.machine = envelope("estimate", std::move(inputs)), .sections = {}};
  add_numbers(document.machine, estimate);

  Section head{.heading = headline(deployment),
               .lines = {fmt::format("{} of {} prompt and {}", counted(question.batch, "sequence"),
                                     with_separators(question.input_tokens),
                                     counted(question.output_tokens, "output token"))},
               .table = answer_table(estimate)};
  const MemoryPlan plan = plan_memory(deployment);
  const std::int64_t fitting =
      max_batch_at(deployment, plan, question.input_tokens + question.output_tokens);
  if (fitting < question.batch) {
    head.lines.push_back(fmt::format(
        "Only {} in memory at once (roofcast memory).",
        fitting == 1 ? "1 such sequence fits" : with_separators(fitting) + " such sequences fit"));
  }
  document.machine["fits"] = fitting >= question.batch;
  document.sections.push_back(std::move(head));
  if (question.list_operators) {
    document.sections.push_back(
        {.heading = "", .lines = {}, .table = operator_table(estimate.prefill, "Prefill")});
    document.sections.push_back(
        {.heading = "", .lines = {}, .table = operator_table(estimate.decode, "Decode step")});
  }
  add_variants(document, options, question);
  return document;
}

}  // namespace roofcast
