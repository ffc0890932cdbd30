#include "calibrate/tables/table_rows.hpp"

#include <array>
#include <string_view>
#include <utility>

namespace roofcast {

namespace {

/// Names of number formats in the tables, and ours.
constexpr std::array<std::pair<std::string_view, std::string_view>, 13> kFormats{{
    {"bfloat16", "bf16"},
    {"float16", "fp16"},
    {"fp8", "fp8"},
    {"fp8_static", "fp8"},
    {"fp8_block", "fp8_block"},
    {"sq", "int8"},
    {"int8_wo", "int8 as bf16"},
    {"int4_wo", "int4"},
    {"w4afp8", "int4 as fp8"},
    {"w4a16_mxfp4", "mxfp4"},
    {"mxfp4", "mxfp4"},
    {"w4a8_mxfp4_mxfp8", "mxfp4 as fp8"},
    {"nvfp4", "nvfp4"},
}};

}  // namespace

std::optional<std::string> format_of(const std::string& name) {
  for (const auto& [theirs, ours] : kFormats) {
    if (theirs == name) return std::string(ours);
  }
  return std::nullopt;
}

std::optional<DType> cache_of(const std::string& name) {
  if (name == "bfloat16") return DType::bf16;
  if (name == "float16") return DType::fp16;
  if (name == "fp8" || name == "fp8_e4m3") return DType::fp8;
  return std::nullopt;
}

std::string framework_of(const std::string& name) { return name == "VLLM" ? "vLLM" : name; }

std::string engine_of(const TableFile& table) {
  return framework_of(table.text("framework")) + " " + table.text("version");
}

std::string kernel_of(const TableFile& table) {
  const std::string& kernel = table.text("kernel_source");
  const bool named = !kernel.empty() && kernel != framework_of(table.text("framework"));
  return named ? kernel + ", " + engine_of(table) : engine_of(table);
}

void add_row(const TableFile& table, OperatorShape shape, const std::string& kernel, double x,
             double y, ImportedRows& rows) {
  const auto latency = table.number("latency");
  if (!latency) return refuse_number(table, rows);
  add_point(rows, {.shape = std::move(shape),
                   .kernel = kernel,
                   .point = {.x = x,
                             .y = y,
                             .time = Seconds{*latency * kMilliseconds},
                             .relative_spread = kSpread,
                             .samples = 1},
                   .name = table.place()});
}

void refuse_number(const TableFile& table, ImportedRows& rows) {
  leave_out(rows, LeftOutAs::refused, kNoNumber, table.place());
}

}  // namespace roofcast
