// The formats that are not JSON.
#pragma once

#include <span>
#include <string_view>

#include "base/io/byte_source.hpp"
#include "reports/importers/formats.hpp"

namespace roofcast {

/// `matches` sees the first 64 KiB of a file.
struct TextFormat {
  std::string_view name;
  bool (*matches)(std::string_view head);
  MeasuredRuns (*read)(ByteSource& bytes, const ImportOptions& options);
};

/// In the order in which they are tried.
std::span<const TextFormat> text_formats();

bool is_vllm_console(std::string_view head);
MeasuredRuns read_vllm_console(ByteSource& bytes, const ImportOptions& options);
bool is_vllm_sweep_table(std::string_view head);
MeasuredRuns read_vllm_sweep_table(ByteSource& bytes, const ImportOptions& options);
bool is_prometheus(std::string_view head);
MeasuredRuns read_prometheus(ByteSource& bytes, const ImportOptions& options);
bool is_start_up_log(std::string_view head);
MeasuredRuns read_start_up_log(ByteSource& bytes, const ImportOptions& options);
bool is_aiperf_table(std::string_view head);
MeasuredRuns read_aiperf_table(ByteSource& bytes, const ImportOptions& options);
bool is_guidellm_table(std::string_view head);
MeasuredRuns read_guidellm_table(ByteSource& bytes, const ImportOptions& options);
bool is_guidellm_yaml(std::string_view head);
MeasuredRuns read_guidellm_yaml(ByteSource& bytes, const ImportOptions& options);
bool is_llmd_yaml(std::string_view head);
MeasuredRuns read_llmd_yaml(ByteSource& bytes, const ImportOptions& options);

}  // namespace roofcast
