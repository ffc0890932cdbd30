#include "calibrate/tables/llmservingsim.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <filesystem>
#include <optional>
#include <set>
#include <string_view>
#include <utility>
#include <vector>

#include "base/error.hpp"
#include "base/quantity.hpp"
#include "calibrate/tables/mixed_attention.hpp"
#include "calibrate/tables/table_file.hpp"
#include "calibrate/tables/table_rows.hpp"
#include "model/step/deployment_operators.hpp"

namespace roofcast {

namespace {

// Extra time of a kernel launched individually instead of from a captured graph: graphs shorten a
// step of Llama-3.1-8B on an RTX PRO 6000 by 589 us whatever its size, 1.8 us for each of 324
// launches (casys-kaist/LLMServingSim 446b29d, profiler/core/step.py).
constexpr Seconds kGraphSaving{1.8e-6};

/// Their layers and our operators. The two norms of a layer are timed as one operator each.
constexpr std::array<std::pair<std::string_view, std::string_view>, 10> kLayers{{
    {"qkv_proj", "qkv_proj"},
    {"o_proj", "o_proj"},
    {"gate_up_proj", "mlp.gate_up_proj"},
    {"down_proj", "mlp.down_proj"},
    {"act_fn", "activation"},
    {"layernorm", "norms"},
    {"rotary_emb", "rope"},
    {"embedding", "embedding"},
    {"lm_head", "lm_head"},
    {"sampler", "sampling"},
}};

/// The value after "key:" on an unindented line, without quotes; nullopt on other lines.
std::optional<std::string> value_of(std::string_view line, std::string_view key) {
  if (!line.starts_with(key) || !line.substr(key.size()).starts_with(":")) return std::nullopt;
  line.remove_prefix(key.size() + 1);
  const auto is_padding = [](char c) { return c == ' ' || c == '\'' || c == '"' || c == '\r'; };
  while (!line.empty() && is_padding(line.front())) line.remove_prefix(1);
  while (!line.empty() && is_padding(line.back())) line.remove_suffix(1);
  return std::string(line);
}

/// DIR/NAME.csv, else the compressed file; throws Error if neither exists.
std::string table_path(const std::string& folder, const std::string& name) {
  const std::filesystem::path plain = std::filesystem::path(folder) / (name + ".csv");
  if (std::filesystem::exists(plain)) return plain.string();
  std::string packed = plain.string() + ".gz";
  if (std::filesystem::exists(packed)) return packed;
  throw Error(folder + ": no " + name + ".csv or " + name +
              ".csv.gz, as found in a profiler's folder");
}

void check_columns(const TableFile& table, const std::string& path,
                   const std::vector<std::string>& expected) {
  if (table.columns() == expected) return;
  throw Error(fmt::format("{}: the columns are {}; expected {}", path,
                          fmt::join(table.columns(), ", "), fmt::join(expected, ", ")));
}

/// The operator of that name; nullptr if the model has none.
const LinearOperator* find_operator(const StepOperators& operators, std::string_view name) {
  for (const auto* list : {&operators.per_token, &operators.per_row}) {
    const auto found = std::find_if(list->begin(), list->end(),
                                    [&](const LinearOperator& op) { return op.work.name == name; });
    if (found != list->end()) return &*found;
  }
  return nullptr;
}

/// State of reading one folder into `rows`.
struct Reading {
  const ProfilerMeta& meta;
  StepOperators operators{};
  std::string kernel{};
  std::set<OperatorShape> known{};  // from other folders
  ImportedRows& rows;

  void add(OperatorShape shape, double x, double y, double time_us,
           const std::string& place) const {
    add_point(rows, {.shape = std::move(shape),
                     .kernel = kernel,
                     .point = {.x = x,
                               .y = y,
                               .time = Seconds{time_us * kMicroseconds},
                               .relative_spread = kSpread,
                               .samples = meta.samples},
                     .name = place});
  }
};

/// Reads dense (by "tokens") and per_sequence (by "sequences"), which differ only in that column.
void read_layers(const Reading& reading, const std::string& path, const std::string& size) {
  TableFile table(path);
  check_columns(table, path, {"layer", size, "time_us"});
  begin_table(reading.rows, path, "layers");
  ImportedRows& rows = reading.rows;
  while (table.next()) {
    count_row(rows);
    const auto count = table.whole() ? table.count(size, 1) : std::nullopt;
    const auto time = table.whole() ? table.number("time_us") : std::nullopt;
    if (!count || !time) {
      leave_out(rows, LeftOutAs::refused, kNoNumber, table.place());
      continue;
    }
    const std::string& layer = table.text("layer");
    const auto known = std::find_if(kLayers.begin(), kLayers.end(),
                                    [&](const auto& pair) { return pair.first == layer; });
    const LinearOperator* op =
        known == kLayers.end() ? nullptr : find_operator(reading.operators, known->second);
    if (op == nullptr) {
      leave_out(rows, LeftOutAs::unused, "layer " + layer, table.place());
      continue;
    }
    // Memory-bound operators are identified by their bytes alone, so another tensor parallelism
    // would add different rows for the same ones.
    if (op->work.family == OperatorFamily::memory_bound && reading.known.contains(op->shape)) {
      leave_out(rows, LeftOutAs::unused, "token operators at a second tensor-parallel degree",
                table.place());
      continue;
    }
    reading.add(op->shape, static_cast<double>(*count) * op->shape_each, 0, *time, table.place());
  }
}

std::optional<AttentionCall> call_of(const TableFile& table) {
  if (!table.whole()) return std::nullopt;
  const auto chunk = table.count("prefill_chunk");
  const auto cached = table.count("kv_prefill");
  const auto sequences = table.count("n_decode");
  const auto attended = table.count("kv_decode");
  const auto time = table.number("time_us");
  if (!chunk || !cached || !sequences || !attended || !time || *time <= 0) return std::nullopt;
  if (*chunk + *sequences == 0 || (*sequences > 0 && *attended == 0)) return std::nullopt;
  return AttentionCall{.chunk = *chunk,
                       .cached = *cached,
                       .sequences = *sequences,
                       .attended = *attended,
                       .time = Seconds{*time * kMicroseconds}};
}

/// The model's single kind of attention that a kernel over a plain cache computes.
const AttentionOperator& attention_of(const Reading& reading, const std::string& path) {
  const auto& all = reading.operators.attention;
  if (all.size() == 1 && all[0].decode_shape && all[0].prefill_shape) return all[0];
  throw Error(
      path + ": the attention of " + reading.meta.model +
      " differs between layers, or does not use a plain cache: one table cannot describe it");
}

/// Adds the cost of decoding beside prefill.
void add_mixed(const Reading& reading, const std::vector<AttentionCall>& calls,
               const OperatorShape& decode) {
  const MixedAttention mixed = mixed_attention(calls, decode.query_heads);
  OperatorShape beside = decode;
  beside.beside_prefill = true;
  for (const MeasuredPoint& point : mixed.beside) {
    reading.add(beside, point.x, point.y, point.time.value / kMicroseconds, "beside prefill");
  }
  reading.rows.decode_kernels.push_back({.shape = beside,
                                         .kernel = reading.kernel,
                                         .empty_tile = mixed.empty_tile,
                                         .tail_token = mixed.tail_token});
  reading.rows.decode_kernels.push_back(
      {.shape = decode, .kernel = reading.kernel, .tail_token = mixed.tail_token});
}

void read_attention(const Reading& reading, const std::string& path) {
  TableFile table(path);
  check_columns(table, path, {"prefill_chunk", "kv_prefill", "n_decode", "kv_decode", "time_us"});
  begin_table(reading.rows, path, "mixed attention");
  const AttentionOperator& op = attention_of(reading, path);
  ImportedRows& rows = reading.rows;
  std::vector<AttentionCall> calls;
  while (table.next()) {
    count_row(rows);
    const auto call = call_of(table);
    if (!call) {
      leave_out(rows, LeftOutAs::refused, kNoNumber, table.place());
      continue;
    }
    calls.push_back(*call);
    const double time_us = call->time.value / kMicroseconds;
    if (call->sequences == 0) {
      reading.add(*op.prefill_shape, static_cast<double>(call->chunk),
                  static_cast<double>(call->cached), time_us, table.place());
    } else if (call->chunk == 0) {
      reading.add(*op.decode_shape, static_cast<double>(call->sequences),
                  static_cast<double>(call->attended), time_us, table.place());
    } else {
      ++rows.mixed;
    }
  }
  add_mixed(reading, calls, *op.decode_shape);
}

}  // namespace

ProfilerMeta read_profiler_meta(const std::string& path) {
  ByteSource bytes(path);
  LineReader lines(bytes);
  ProfilerMeta meta;
  std::string_view line;
  while (lines.next(line)) {
    if (const auto model = value_of(line, "model")) meta.model = *model;
    if (const auto gpu = value_of(line, "gpu")) meta.gpu = *gpu;
    if (const auto version = value_of(line, "vllm_version")) meta.vllm_version = *version;
    if (const auto samples = value_of(line, "measurement_iterations")) {
      meta.samples = std::max(1, to_number<int>(*samples).value_or(1));
    }
    line.remove_prefix(std::min(line.find_first_not_of(' '), line.size()));
    if (const auto eager = value_of(line, "enforce_eager")) meta.eager = *eager != "false";
  }
  if (meta.model.empty() || meta.gpu.empty() || meta.vllm_version.empty()) {
    throw Error(path +
                ": does not state model, gpu and vllm_version, expected a profiler's meta.yaml");
  }
  return meta;
}

void read_llmservingsim(const std::string& folder, const ProfilerMeta& meta,
                        const Deployment& deployment, ImportedRows& rows) {
  Reading reading{.meta = meta,
                  .operators = step_operators(deployment),
                  .kernel = "vLLM " + meta.vllm_version,
                  .rows = rows};
  for (const TimedPoint& point : rows.points) reading.known.insert(point.shape);
  const std::int64_t before = rows.rows;
  read_layers(reading, table_path(folder, "dense"), "tokens");
  read_layers(reading, table_path(folder, "per_sequence"), "sequences");
  read_attention(reading, table_path(folder, "attention"));
  // The profiler times modules without graphs; the attention module also writes the cache (vLLM
  // 0.19, Attention.forward calls unified_kv_cache_update).
  rows.sources.push_back({.kernel = reading.kernel,
                          .graph_saving = meta.eager ? kGraphSaving : Seconds{},
                          .attention_writes_cache = true});
  rows.devices[meta.gpu] += rows.rows - before;
  add_version(rows, "vLLM", meta.vllm_version);
}

}  // namespace roofcast
