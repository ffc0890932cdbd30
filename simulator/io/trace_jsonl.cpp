// Reads JSONL traces: Mooncake, aiperf's mooncake_trace, agentic (weka) traces, recorded requests.
#include <fmt/format.h>

#include <nlohmann/json.hpp>
#include <optional>

#include "base/error.hpp"
#include "base/io/json_words.hpp"
#include "base/io/line_reader.hpp"
#include "base/io/shown.hpp"
#include "simulator/io/trace_builder.hpp"
#include "simulator/io/trace_formats.hpp"

namespace roofcast {
namespace {

constexpr std::size_t kKeysShown = 200;

/// Handles the SAX events of parsing one line (nlohmann) and stores only the row's columns.
/// Returning false ends the parse; `problem` says why.
class RowHandler {
 public:
  RowHandler(const TraceWorkload& spec, TraceBuilder& trace) : spec_(spec), trace_(trace) {}

  void begin() {
    row.clear();
    problem.reset();
    keys_.clear();
    column_.reset();
    depth_ = 0;
    in_ids_ = false;
    has_text_input_ = false;
  }

  bool null() {
    if (depth_ == 2 && in_ids_) return fail_id("null");
    if (depth_ == 1 && keys_.size() < kKeysShown) keys_ += " (null)";
    return depth_ > 0 || fail("is not a JSON object");
  }
  bool boolean(bool value) { return scalar(value ? "true" : "false"); }
  bool number_integer(nlohmann::json::number_integer_t value) {
    if (takes_id()) return take_id(static_cast<std::uint64_t>(value));  // hashes may be signed
    return scalar(fmt::format_int(value).c_str());
  }
  bool number_unsigned(nlohmann::json::number_unsigned_t value) {
    if (takes_id()) return take_id(value);
    return scalar(fmt::format_int(value).c_str());
  }
  bool number_float(nlohmann::json::number_float_t, const std::string& text) {
    return scalar(text);
  }
  bool string(const std::string& text) { return scalar(text); }
  bool binary(const nlohmann::json::binary_t&) { return fail("is not JSON"); }

  bool start_object(std::size_t) { return start("an object"); }
  bool end_object() { return end(); }
  bool start_array(std::size_t) {
    const bool ids = depth_ == 1 && column_ == TraceColumn::hash_ids;
    if (ids) row.set(TraceColumn::hash_ids, "");
    in_ids_ = ids || (in_ids_ && depth_ > 1);
    return start("a list");
  }
  bool end_array() { return end(); }

  bool key(const std::string& name) {
    if (depth_ != 1) return true;
    column_ = column_called(name, spec_.columns);
    if (keys_.size() < kKeysShown) keys_ += (keys_.empty() ? "" : ", ") + name;
    has_text_input_ = has_text_input_ || name == "text_input";
    if (!column_) return true;
    const bool timestamp = normalised_name(name) == "timestamp";
    if (!named(*column_)) {
      trace_.name_column(*column_, name,
                         timestamp ? TraceTimeUnit::milliseconds : TraceTimeUnit::seconds);
      named(*column_) = true;
    }
    if (trace_.name(*column_) != name) {
      column_.reset();
    } else if (row.has(*column_)) {
      return fail(shown(name) + " is given twice");
    }
    return true;
  }

  bool parse_error(std::size_t position, const std::string& token,
                   const nlohmann::json::exception&) {
    return fail(fmt::format("is not JSON from character {} on: '{}'", position, shown(token)));
  }

  /// Checks that the required columns are present.
  void check_complete() {
    const bool timed = row.has(TraceColumn::time) || row.has(TraceColumn::session);
    const bool fed = row.has(TraceColumn::input);
    if (timed && fed && row.has(TraceColumn::output)) return;
    if (!fed && has_text_input_) {
      problem = "text_input requires the model's tokenizer, expected input_length";
      return;
    }
    const TraceColumn missing = !timed ? TraceColumn::time
                                : !fed ? TraceColumn::input
                                       : TraceColumn::output;
    if (const std::string& name = name_given(missing, spec_.columns); !name.empty()) {
      problem =
          fmt::format("no key '{}', as named by `trace_columns` or workload.columns; found {}",
                      shown(name), shown(keys_, kKeysShown));
      return;
    }
    problem =
        fmt::format("no key for {}: expected timestamp, input_length, output_length; found {}",
                    !timed ? "a time"
                    : !fed ? "an input"
                           : "an output",
                    shown(keys_, kKeysShown));
  }

  /// The first column that the user names and no row has; nullopt if there is none.
  std::optional<std::string> absent_column() const {
    for (std::size_t i = 0; i < kTraceColumns; ++i) {
      const std::string& name = name_given(static_cast<TraceColumn>(i), spec_.columns);
      if (!name.empty() && !named_[i]) return name;
    }
    return std::nullopt;
  }

  TraceRow row;
  std::optional<std::string> problem;

 private:
  bool fail(std::string text) {
    problem = std::move(text);
    return false;
  }
  bool fail_id(std::string_view text) {
    return fail(
        fmt::format("hash_ids has {}, expected whole numbers from 0 to 2^64 - 1", shown(text)));
  }
  bool& named(TraceColumn column) { return named_[static_cast<std::size_t>(column)]; }

  bool takes_id() const { return depth_ == 2 && in_ids_; }
  bool take_id(std::uint64_t id) {
    row.hash_ids.push_back(id);
    return true;
  }

  bool scalar(std::string_view text) {
    if (depth_ == 0) return fail("is not a JSON object");
    if (takes_id()) return fail_id(text);
    if (depth_ != 1 || !column_) return true;
    if (column_ == TraceColumn::hash_ids) {
      return fail(fmt::format("hash_ids is '{}', expected a list of whole numbers", shown(text)));
    }
    row.set(*column_, text);
    return true;
  }

  bool start(std::string_view what) {
    if (depth_ == 0 && what != "an object") return fail("is a list, expected a JSON object");
    if (takes_id()) return fail_id(what);
    const bool ids = column_ == TraceColumn::hash_ids && in_ids_;
    if (depth_ == 1 && column_ && !ids) {
      return fail(
          fmt::format("{} is {}, expected {}", shown(trace_.name(*column_)), what,
                      column_ == TraceColumn::hash_ids ? "a list of whole numbers" : "one value"));
    }
    if (++depth_ > kMaxTraceDepth)
      return fail(fmt::format("nests deeper than {} levels", kMaxTraceDepth));
    return true;
  }
  bool end() {
    if (--depth_ == 1) in_ids_ = false;
    return true;
  }

  const TraceWorkload& spec_;
  TraceBuilder& trace_;
  std::array<bool, kTraceColumns> named_{};
  std::string keys_;  // found in the row
  std::optional<TraceColumn> column_;
  int depth_ = 0;
  bool in_ids_ = false;
  bool has_text_input_ = false;
};

/// Returns `line`, or `repaired` containing it with null instead of NaN and Infinity.
std::string_view without_words(std::string_view line, std::string& repaired) {
  const auto has = [&](std::string_view word) { return line.find(word) != std::string_view::npos; };
  if (!has("NaN") && !has("Infinity")) return line;
  repaired.clear();
  JsonWords words;
  words.append(line, repaired);
  words.finish(repaired);
  return repaired;
}

}  // namespace

Workload read_trace_jsonl(ByteSource& bytes, const TraceWorkload& spec) {
  LineReader lines(bytes);
  TraceBuilder trace(spec);
  RowHandler handler(spec, trace);
  std::string repaired;
  std::string_view line;
  while (lines.next_filled(line)) {
    if (trace.is_full()) return trace.finish(true);
    handler.begin();
    const std::string_view text = without_words(line, repaired);
    const bool read = nlohmann::json::sax_parse(text.begin(), text.end(), &handler);
    if (read) handler.check_complete();
    if (handler.problem) {
      trace.reject(lines.line_number(), *handler.problem);
    } else {
      trace.add(handler.row, lines.line_number());
    }
  }
  if (const auto name = handler.absent_column(); name && !trace.is_empty()) {
    throw Error(
        fmt::format("{}: no row has the key '{}', as named by `trace_columns` or workload.columns",
                    spec.path, shown(*name)));
  }
  return trace.finish(false);
}

}  // namespace roofcast
