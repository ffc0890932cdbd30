#include "reports/answers/estimate_sections.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "base/joined.hpp"
#include "base/numbers.hpp"
#include "base/text.hpp"
#include "base/wording.hpp"
#include "reports/answers/cost_cells.hpp"

namespace roofcast {
namespace {

Printed intensity_text(const PartAnswer& part) {
  return part.intensity ? printed::fixed(part.intensity->value, 1) : "-";
}

/// 33.1 and 0.066: three digits below 1.
Printed milliseconds(Seconds time) {
  const double ms = time.value * 1e3;
  return printed::fixed(ms, ms < 1 ? 3 : ms < 100 ? 2 : 1);
}

Printed percent(double share) { return printed::fixed(share * 100, 1); }

Printed gigabytes(Bytes bytes) { return printed::fixed(bytes.value / 1e9, 2); }

Printed batch_text(const std::optional<std::int64_t>& batch) {
  return batch ? printed::count(*batch) : "never";
}

std::string binding_text(const StepAnswer& step) {
  return fmt::format("{} {}", name_of(step.binding), as_percent(step.binding_share, 0));
}

std::vector<Cell> step_cells(const StepAnswer& step) {
  return {milliseconds(step.time),
          printed::fixed(step.source.relative_uncertainty * 100, 0),
          milliseconds(step.lower_bound),
          printed::fixed(step.tokens_per_s, 1),
          intensity_text(step.products),
          intensity_text(step.attention),
          intensity_text(step.whole),
          binding_text(step),
          percent(step.mfu),
          percent(step.mbu)};
}

/// For a batch that does not fit.
std::vector<Cell> no_cells() {
  return {"-", "-", "-", "-", "-", "-", "-", "beyond memory", "-", "-"};
}

Table step_table(const BatchesAnswer& answer, const char* title, const char* rate,
                 StepAnswer PerStep<StepAnswer>::*step) {
  Table table{.title = title,
              .columns = {{"Batch"},
                          {"Prompt"},
                          {"K/V (GB)"},
                          {"Time (ms)"},
                          {"± (%)"},
                          {"Least (ms)"},
                          {rate},
                          {"Products"},
                          {"Attention"},
                          {"Step (FLOP/byte)"},
                          {"Binds", false},
                          {"MFU (%)"},
                          {"MBU (%)"}},
              .rows = {}};
  for (const BatchRow& row : answer.rows) {
    std::vector<Cell> cells{printed::count(row.batch), printed::count(row.input_tokens),
                            gigabytes(row.cache)};
    const auto more = row.summary ? step_cells((*row.summary).*step) : no_cells();
    cells.insert(cells.end(), more.begin(), more.end());
    table.rows.push_back(std::move(cells));
  }
  return table;
}

std::string tokens_text(const BatchesInputs& inputs) {
  const auto [low, high] = std::ranges::minmax(inputs.input_tokens);
  const std::string prompts =
      low == high ? with_separators(low)
                  : fmt::format("{} to {}", with_separators(low), with_separators(high));
  return fmt::format("{} prompt and {} output tokens per sequence", prompts,
                     with_separators(inputs.output_tokens));
}

/// "A decode step is memory-bound at any batch: its products become compute-bound (above 206.1
/// FLOP/byte) from 219 sequences, attention never."
std::string compute_bound_text(const ComputeBoundBatches& batches, double ridge) {
  const auto from = [](const std::optional<std::int64_t>& batch) {
    return batch ? "from " + counted(*batch, "sequence") : std::string("never");
  };
  const std::string step = batches.step ? "becomes compute-bound " + from(batches.step) + " on"
                                        : "is memory-bound at any batch";
  return fmt::format(
      "A decode step {}: its products become compute-bound (above {} FLOP/byte) {}, attention {}.",
      step, fixed(ridge, 1), from(batches.products), from(batches.attention));
}

/// "33, 34, 35, ..., 63": at most five.
std::string batches_text(const std::vector<std::string>& batches) {
  constexpr std::size_t kListed = 5;
  if (batches.size() <= kListed) return joined(batches);
  return joined(std::span(batches).first(kListed - 2)) + ", ..., " + batches.back();
}

/// "No CUDA graph holds a decode of these batches, so their kernels are launched one by one: 33,
/// 129 (--cuda-graph-padding on, --cuda-graph-max-bs 129)."; empty if there are none.
std::string uncaptured_text(const BatchesAnswer& answer) {
  std::map<std::int64_t, UncapturedDecode> uncaptured;
  for (const BatchRow& row : answer.rows) {
    if (row.uncaptured_decode) uncaptured.emplace(row.batch, *row.uncaptured_decode);
  }
  if (uncaptured.empty()) return {};
  std::vector<std::string> batches;
  std::map<std::string, std::string> flags;  // by knob: the one for the largest batch
  for (const auto& [batch, decode] : uncaptured) {
    batches.push_back(with_separators(batch));
    flags[decode.knob] = graph_flag(decode);
  }
  return fmt::format(
      "No CUDA graph holds a decode of these batches, so their kernels are launched one by one: {} "
      "({}).",
      batches_text(batches), joined(flags, [](const auto& flag) { return flag.second; }));
}

}  // namespace

std::string graph_flag(const UncapturedDecode& decode) {
  return fmt::format("--{} {}", with_dashes(decode.knob), decode.value);
}

bool is_chunked(const EstimateAnswer& answer) {
  constexpr double kShown = 0.001;
  return std::abs(answer.prefill / answer.step.prefill - 1) > kShown;
}

Table parts_table(const EstimateAnswer& answer) {
  Table table{.title = "Products, attention and the whole step",
              .columns = {{"Part", false},
                          {"Time"},
                          {"Share"},
                          {"GFLOP"},
                          {"MB"},
                          {"FLOP/byte"},
                          {"Roofline", false},
                          {"Compute-bound from"}},
              .rows = {}};
  const auto add = [&](const std::string& name, const PartAnswer& part, Seconds step,
                       const Cell& from) {
    if (part.time.value <= 0) return;
    table.rows.push_back({name, printed::time(part.time), printed::percent(part.time / step),
                          printed::fixed(part.flops.value / 1e9, 2),
                          printed::fixed(part.bytes.value / 1e6, 2), intensity_text(part),
                          part.compute_bound ? "compute" : "memory", from});
  };
  const auto sequences = [](const std::optional<std::int64_t>& batch) {
    return batch ? followed(printed::count(*batch), *batch == 1 ? " sequence" : " sequences")
                 : Cell("never");
  };
  const StepAnswer& prefill = answer.summary.prefill;
  add("prefill: products", prefill.products, prefill.whole.time, "");
  add("prefill: attention", prefill.attention, prefill.whole.time, "");
  add(is_chunked(answer) ? "prefill: as one step" : "prefill: whole step", prefill.whole,
      prefill.whole.time, "");
  const StepAnswer& decode = answer.summary.decode;
  const ComputeBoundBatches& from = answer.compute_bound;
  add("decode: products", decode.products, decode.whole.time, sequences(from.products));
  add("decode: attention", decode.attention, decode.whole.time, sequences(from.attention));
  add("decode: whole step", decode.whole, decode.whole.time, sequences(from.step));
  return table;
}

Table context_table(const BatchesAnswer& answer) {
  Table table{.title = "Where memory ends, and from which batch on decoding is compute-bound",
              .columns = {{"Prompt"},
                          {"Full length"},
                          {"K/V each (GB)"},
                          {"Largest batch"},
                          {"Products"},
                          {"Attention"},
                          {"Whole step"}},
              .rows = {}};
  for (const ContextAnswer& context : answer.contexts) {
    const ComputeBoundBatches& from = context.compute_bound;
    table.rows.push_back({printed::count(context.input_tokens),
                          printed::count(context.context_tokens),
                          printed::fixed(context.cache_per_sequence.value / 1e9, 3),
                          printed::count(context.max_batch), batch_text(from.products),
                          batch_text(from.attention), batch_text(from.step)});
  }
  return table;
}

Table decode_table(const BatchesAnswer& answer) {
  return step_table(answer, "Decode step", "Tokens/s", &PerStep<StepAnswer>::decode);
}

Table prefill_table(const BatchesAnswer& answer) {
  return step_table(answer, "Prefill of the whole batch", "Tokens/s",
                    &PerStep<StepAnswer>::prefill);
}

Table batch_cost_table(const BatchesAnswer& answer) {
  Table table{.title = "Cost and power while a batch runs, prefill included",
              .columns = {{"Batch"}, {"Prompt"}},
              .rows = {}};
  add_cost_columns(table);
  for (const BatchRow& row : answer.rows) {
    table.rows.push_back({printed::count(row.batch), printed::count(row.input_tokens)});
    add_cost_cells(table.rows.back(), row.cost);
  }
  return table;
}

std::vector<std::string> batch_sentences(const BatchesAnswer& answer) {
  std::vector<std::string> lines{tokens_text(answer.inputs)};
  if (!is_yes(answer))
    lines.emplace_back("None of these batches fits in memory (roofcast memory).");
  const std::int64_t largest = std::ranges::max(answer.inputs.batches);
  if (largest > answer.max_num_seqs) {
    lines.push_back(fmt::format("The scheduler runs {} at once (--max-num-seqs).",
                                counted(answer.max_num_seqs, "sequence")));
  }
  if (std::string uncaptured = uncaptured_text(answer); !uncaptured.empty()) {
    lines.push_back(std::move(uncaptured));
  }
  if (answer.contexts.size() == 1) {
    lines.push_back(compute_bound_text(answer.contexts.front().compute_bound, answer.ridge.value));
  } else {
    lines.push_back(
        fmt::format("The ridge point is at {} FLOP/byte.", fixed(answer.ridge.value, 1)));
  }
  return lines;
}

}  // namespace roofcast
