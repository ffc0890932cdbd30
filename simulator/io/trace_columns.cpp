#include "simulator/io/trace_columns.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <span>
#include <string_view>
#include <vector>

#include "model/error.hpp"
#include "simulator/io/csv.hpp"

namespace roofcast {
namespace {

// Names in lower case, blanks as underscores; Azure's first, then those of other tools' traces.
constexpr std::array<std::string_view, 7> kTimeNames = {
    "timestamp", "arrival", "arrival_s", "arrival_time", "arrival_time_s", "arrived_at", "time_s"};
constexpr std::array<std::string_view, 7> kInputNames = {
    "contexttokens", "input",         "input_tokens",      "input_length",
    "input_len",     "prompt_tokens", "num_prefill_tokens"};
constexpr std::array<std::string_view, 8> kOutputNames = {
    "generatedtokens", "output",      "output_tokens",     "output_length",
    "output_len",      "output_toks", "completion_tokens", "num_decode_tokens"};
constexpr std::array<std::string_view, 2> kClassNames = {"class", "slo_class"};
constexpr std::array<std::string_view, 1> kPriorityNames = {"priority"};

std::string normalised(std::string_view name) {
  std::string result(name);
  for (char& letter : result) {
    if (letter >= 'A' && letter <= 'Z') letter = static_cast<char>(letter - 'A' + 'a');
    if (letter == ' ') letter = '_';
  }
  return result;
}

std::optional<std::size_t> find_column(const std::vector<std::string>& header,
                                       std::span<const std::string_view> names) {
  for (std::size_t i = 0; i < header.size(); ++i) {
    if (std::find(names.begin(), names.end(), normalised(header[i])) != names.end()) return i;
  }
  return std::nullopt;
}

/// For an error text: short, and on one line whatever the file holds.
std::string joined(const std::vector<std::string>& names) {
  std::string text = fmt::format("{}", fmt::join(names, ", "));
  const auto is_control = [](char letter) { return letter >= 0 && letter < ' '; };
  std::replace_if(text.begin(), text.end(), is_control, '?');
  constexpr std::size_t kShown = 200;
  return text.size() <= kShown ? text : text.substr(0, kShown) + " ...";
}

TraceColumns read_header(const std::string& path, const std::vector<std::string>& header) {
  const auto time = find_column(header, kTimeNames);
  const auto input = find_column(header, kInputNames);
  const auto output = find_column(header, kOutputNames);
  if (!time || !input || !output) {
    const std::string_view missing = !time ? "a time" : !input ? "an input" : "an output";
    throw Error(fmt::format(
        "{}:1: no column for {}: expected TIMESTAMP, ContextTokens, GeneratedTokens or arrival_s, "
        "input_tokens, output_tokens; found {}",
        path, missing, joined(header)));
  }
  return {.count = header.size(),
          .time = *time,
          .input = *input,
          .output = *output,
          .slo_class = find_column(header, kClassNames),
          .priority = find_column(header, kPriorityNames),
          .time_name = header[*time],
          .input_name = header[*input],
          .output_name = header[*output]};
}

}  // namespace

TraceColumns read_trace_columns(LineReader& lines, const std::string& path) {
  constexpr std::string_view kByteOrderMark = "\xEF\xBB\xBF";
  std::string_view line;
  while (lines.next(line)) {
    if (line.starts_with(kByteOrderMark)) line.remove_prefix(kByteOrderMark.size());
    if (line.find_first_not_of(" \t") == std::string_view::npos) continue;
    std::vector<std::string> header;
    if (!split_csv(line, header)) {
      throw Error(fmt::format("{}:{}: a quote is left open", path, lines.line_number()));
    }
    return read_header(path, header);
  }
  throw Error(fmt::format("{}: is empty, expected a header line and one row a request", path));
}

}  // namespace roofcast
