#include "calibrate/tables/other_tables.hpp"

#include <fmt/format.h>

#include <cmath>
#include <utility>

#include "base/error.hpp"
#include "calibrate/tables/table_rows.hpp"
#include "model/curves/curve_source.hpp"
#include "model/step/version_terms.hpp"

namespace roofcast {

namespace {

/// How far the TFLOP/s of a row of experts may be from what its size and time give. Rows for which
/// a tuner wrote down what it had measured for another size are off by twice and more, those of
/// shared experts that were left out or added by one in eight.
constexpr double kSameSize = 0.05;

void add_time(const TableFile& table, OperatorShape shape, const std::string& kernel,
              const MeasuredPoint& point, ImportedRows& rows) {
  add_point(rows, {.shape = std::move(shape),
                   .kernel = kernel,
                   .point = {.x = point.x,
                             .y = point.y,
                             .time = point.time,
                             .relative_spread = kSpread,
                             .samples = 1},
                   .name = table.place()});
}

/// "gfx950 of 256 units"; older rows of experts state the units alone, which tell the chips apart:
/// 304 the MI300X, 256 the MI355X, 80 the MI308X.
std::string chip_of(const TableFile& table) {
  std::string architecture = table.text("gfx");
  const std::string& units = table.text("cu_num");
  if (architecture.empty()) architecture = units == "256" ? "gfx950" : "gfx942";
  return fmt::format("{} of {} units", architecture, units);
}

/// Our format of AITER's products.
std::optional<std::string> format_of_product(const TableFile& table) {
  const std::string& kind = table.text("kind");
  const std::string& type = table.text("dtype");
  if (kind == "bf16") return "bf16";
  if (kind == "a8w8_blockscale") return "fp8_block";
  if (kind == "a4w4_blockscale") return "mxfp4 as fp4";
  if (kind != "a8w8") return std::nullopt;
  return type == "int8" ? "int8" : "fp8";
}

void read_product(const TableFile& table, const std::string& kernel, ImportedRows& rows) {
  const auto format = format_of_product(table);
  if (!format) {
    leave_out(rows, LeftOutAs::unused, "products of kind " + table.text("kind"), table.place());
    return;
  }
  const auto batch = table.count("B", 1);
  const auto m = table.count("M", 1);
  const auto n = table.count("N", 1);
  const auto k = table.count("K", 1);
  const auto time = table.number("us");
  if (!batch || !m || !n || !k || !time) return refuse_number(table, rows);
  const bool batched = table.text("op") == "batched_gemm";
  add_time(table,
           {.family = OperatorFamily::gemm,
            .format = *format,
            .outputs = *n,
            .inputs = *k,
            .query_heads = batched ? *batch : 0},
           kernel,
           // AITER times kernels alone.
           {.x = static_cast<double>(*m), .time = Seconds{*time * kMicroseconds} + kHipGraphStart},
           rows);
}

/// Our format of AITER's experts, by the types of activations and weights and their scales.
std::optional<std::string> format_of_experts(const TableFile& table) {
  const std::string& activations = table.text("q_dtype_a");
  const std::string& weights = table.text("q_dtype_w");
  const std::string& scales = table.text("q_type");
  const bool wide = activations == "torch.bfloat16";
  const bool eight = activations.find("float8") != std::string::npos;
  if (weights == "torch.bfloat16") return "bf16";
  if (weights == "torch.int4" && wide) return "int4";
  if (weights == "torch.int8") return "int8";
  if (weights.find("float4") != std::string::npos) {
    return wide ? "mxfp4" : eight ? "mxfp4 as fp8" : "mxfp4 as fp4";
  }
  if (!eight || scales == "QuantType.per_1x32") return std::nullopt;
  return scales == "QuantType.per_1x128" ? "fp8_block" : "fp8";
}

void read_experts(const TableFile& table, const std::string& kernel, ImportedRows& rows) {
  const auto format = format_of_experts(table);
  if (!format) {
    leave_out(rows, LeftOutAs::unused,
              fmt::format("experts of {} by {}, {}", table.text("q_dtype_a"),
                          table.text("q_dtype_w"), table.text("q_type")),
              table.place());
    return;
  }
  const auto tokens = table.count("token", 1);
  const auto hidden = table.count("model_dim", 1);
  const auto width = table.count("inter_dim", 1);
  const auto experts = table.count("expert", 1);
  const auto picked = table.count("topk", 1);
  const auto time = table.number("us_total");
  const auto second = table.number("us2");
  const auto teraflops = table.number("tflops");
  if (!tokens || !hidden || !width || !experts || !picked || *picked > *experts || !time ||
      !second || !teraflops) {
    return refuse_number(table, rows);
  }
  const bool gated = table.text("use_g1u1") == "1";
  const double matrices = gated ? 3 : 2;
  const double flops = 2.0 * matrices * to_double(*tokens) * to_double(*picked) *
                       to_double(*hidden) * to_double(*width);
  const double stated = *teraflops * 1e12 * *time * kMicroseconds;  // 0: not stated
  if (stated > 0 && std::abs(stated / flops - 1) > kSameSize) {
    leave_out(rows, LeftOutAs::refused, "time of another size, as its TFLOP/s tell", table.place());
    return;
  }
  const double kernels = *second > 0 ? 2 : 1;
  add_time(
      table,
      {.family = OperatorFamily::moe,
       .format = *format,
       .outputs = *width,
       .inputs = *hidden,
       .experts = *experts,
       .experts_per_token = *picked,
       .gated = gated},
      kernel,
      {.x = to_double(*tokens), .time = Seconds{*time * kMicroseconds} + kHipGraphStart * kernels},
      rows);
}

void read_aiter(TableFile& table, const Gpu& gpu, ImportedRows& rows) {
  const std::string own =
      fmt::format("{} of {} units", gpu.compute_capability, gpu.multiprocessors);
  const std::string kernel = fmt::format("tuned, {}", kAiter);
  const bool experts = table.has("us_total");
  while (table.next()) {
    count_row(rows);
    if (!table.whole()) {
      leave_out(rows, LeftOutAs::refused, "number of fields differs from the header's",
                table.place());
      continue;
    }
    if (const std::string chip = chip_of(table); chip != own) {
      leave_out(rows, LeftOutAs::unused, "measured on " + chip, table.place());
      continue;
    }
    ++rows.devices[gpu.display_name];
    experts ? read_experts(table, kernel, rows) : read_product(table, kernel, rows);
  }
}

/// One forward pass over `batch_size` prompts of `q_seqlen` tokens, each of which attends to those
/// before it.
void read_pass(const TableFile& table, ImportedRows& rows) {
  const std::string& type = table.text("data_type");
  if (table.text("profile_pass") != "fwd" || table.text("success") != "True") {
    leave_out(rows, LeftOutAs::unused, "passes that no server runs, or failed", table.place());
    return;
  }
  if (table.text("attn_mask") != "top_left" || table.text("q_seqlen") != table.text("kv_seqlen")) {
    leave_out(rows, LeftOutAs::unused, "attention without a causal mask", table.place());
    return;
  }
  if (type != "bfloat16" && type != "fp8") {
    leave_out(rows, LeftOutAs::unused, "attention computed in " + type, table.place());
    return;
  }
  const auto prompts = table.count("batch_size", 1);
  const auto tokens = table.count("q_seqlen", 1);
  const auto heads = table.count("num_q_heads", 1);
  const auto kv_heads = table.count("num_kv_heads", 1);
  const auto keys = table.count("head_dim_qk", 1);
  const auto values = table.count("head_dim_vo", 1);
  const auto time = table.number("time_ms");
  const bool windowed = !table.text("sliding_window_size").empty();
  const auto window =
      windowed ? table.count("sliding_window_size", 1) : std::optional<std::int64_t>(0);
  if (!prompts || !tokens || !heads || !kv_heads || *kv_heads > *heads || !keys || !values ||
      !time || !window) {
    return refuse_number(table, rows);
  }
  add_time(table,
           {.family = OperatorFamily::prefill_attention,
            .cache = type == "fp8" ? DType::fp8 : DType::bf16,
            .query_heads = *heads,
            .kv_heads = *kv_heads,
            .head_dim = *keys,
            .value_dim = *values,
            .window = *window,
            .prompts = static_cast<int>(*prompts),
            .fp8_arithmetic = type == "fp8"},
           "cuDNN " + table.text("cudnn_version"),
           {.x = static_cast<double>(*tokens), .time = Seconds{*time * kMilliseconds}}, rows);
}

void read_cudnn(TableFile& table, ImportedRows& rows, const OtherDevice& other) {
  while (table.next()) {
    count_row(rows);
    if (!table.whole()) {  // messages of failed passes hold line breaks
      leave_out(rows, LeftOutAs::refused, "number of fields differs from the header's",
                table.place());
      continue;
    }
    const std::string& device = table.text("gpu_name");
    if (other && other(device)) {
      leave_out(rows, LeftOutAs::unused, "measured on " + device, table.place());
      continue;
    }
    if (!device.empty()) ++rows.devices[device];
    add_version(rows, "cuDNN frontend", table.text("cudnn_version"));
    read_pass(table, rows);
  }
}

}  // namespace

bool read_other_table(const std::string& path, const Gpu& gpu, ImportedRows& rows,
                      const OtherDevice& other) {
  TableFile table(path);
  const bool aiter = table.has("cu_num") && (table.has("us") || table.has("us_total"));
  const bool cudnn = table.has("profile_pass") && table.has("q_seqlen");
  if (!aiter && !cudnn) return false;
  begin_table(rows, path, aiter ? "AITER" : "cuDNN attention");
  if (aiter) {
    read_aiter(table, gpu, rows);
  } else {
    read_cudnn(table, rows, other);
  }
  if (rows.tables.back().rows == 0) throw Error(path + ": a header without rows");
  return true;
}

}  // namespace roofcast
