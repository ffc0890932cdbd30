#include "simulator/io/trace_writer.hpp"

#include <fmt/format.h>
#include <fmt/ostream.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <ostream>
#include <span>
#include <string>

#include "base/io/csv.hpp"
#include "base/wording.hpp"

namespace roofcast {
namespace {

constexpr std::int64_t kBlock = 512;  // tokens per hash id in Mooncake's format, as readers assume

/// Milliseconds with as many decimals as needed: 12, 0.5, 3.000001.
std::string milliseconds(Nanoseconds time) {
  std::string text = fmt::format("{}.{:06}", time / kMillisecond, time % kMillisecond);
  text.erase(text.find_last_not_of('0') + 1);
  if (text.ends_with('.')) text.pop_back();
  return text;
}

/// For every request of a session, the session's first request; kNoRequest for single ones.
std::vector<RequestId> sessions_of(const std::vector<Request>& requests) {
  std::vector<RequestId> sessions(requests.size(), kNoRequest);
  for (std::size_t i = 0; i < requests.size(); ++i) {
    const RequestId before = requests[i].follows;
    if (before == kNoRequest) continue;
    RequestId& session = sessions[static_cast<std::size_t>(before)];
    if (session == kNoRequest) session = before;
    sessions[i] = session;
  }
  return sessions;
}

std::span<const ContentSpan> contents_of(const Workload& workload, const Request& request) {
  return std::span(workload.contents).subspan(request.contents_begin, request.contents_count);
}

/// Whether every span is a block of 512 tokens, except a shorter one at the end of the prompt.
bool is_in_blocks(const Workload& workload) {
  return std::all_of(workload.requests.begin(), workload.requests.end(),
                     [&](const Request& request) {
                       std::int64_t left = request.input_tokens;
                       for (const ContentSpan& span : contents_of(workload, request)) {
                         if (span.tokens != std::min(kBlock, left)) return false;
                         left -= span.tokens;
                       }
                       return true;
                     });
}

template <class Predicate>
bool any_request(const Workload& workload, Predicate predicate) {
  return std::any_of(workload.requests.begin(), workload.requests.end(), predicate);
}

bool has_priorities(const Workload& workload) {
  return any_request(workload, [](const Request& r) { return r.priority != 0; });
}

bool has_max_tokens(const Workload& workload) {
  return any_request(workload, [](const Request& r) { return r.max_tokens != kExactMaxTokens; });
}

/// As declared; a request that declares its output says so in a file where others do not.
std::int64_t written_max_tokens(const Request& request) {
  return request.max_tokens == kExactMaxTokens ? request.output_tokens : request.max_tokens;
}

std::string class_json(const Workload& workload, const Request& request) {
  const nlohmann::json name = workload.class_names[static_cast<std::size_t>(request.slo_class)];
  return name.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
}

std::vector<std::string> lost_in_any(const Workload& workload) {
  std::vector<std::string> lost;
  if (!workload.stages.empty()) {
    lost.emplace_back("the file does not record the stages of the load");
  }
  if (workload.recorded_limit) {
    lost.push_back(fmt::format("the file does not record the limit of {} in flight",
                               counted(*workload.recorded_limit, "request")));
  }
  if (any_request(workload, [](const Request& r) { return r.adapter >= 0; })) {
    lost.emplace_back("the file does not record which adapter a request uses");
  }
  if (any_request(workload, [](const Request& r) { return r.output_continues_prompt; })) {
    lost.emplace_back("the file does not record that turns repeat the answers before them");
  }
  return lost;
}

}  // namespace

void write_trace_csv(const Workload& workload, std::ostream& out) {
  const bool with_limit = has_max_tokens(workload);
  const bool with_class = !workload.class_names.empty();
  const bool with_priority = has_priorities(workload);
  const bool with_session =
      any_request(workload, [](const Request& r) { return r.follows != kNoRequest; });
  const auto sessions = sessions_of(workload.requests);
  out << "arrival_s,input_tokens,output_tokens" << (with_limit ? ",max_tokens" : "")
      << (with_class ? ",class" : "") << (with_priority ? ",priority" : "")
      << (with_session ? ",session_id,delay_ms" : "") << '\n';
  for (std::size_t i = 0; i < workload.requests.size(); ++i) {
    const Request& request = workload.requests[i];
    const bool follows = request.follows != kNoRequest;
    if (!follows) fmt::print(out, "{}.{:09}", request.arrival / kSecond, request.arrival % kSecond);
    fmt::print(out, ",{},{}", request.input_tokens, request.output_tokens);
    if (with_limit) out << ',' << written_max_tokens(request);
    if (with_class) {
      out << ',' << quoted_csv(workload.class_names[static_cast<std::size_t>(request.slo_class)]);
    }
    if (with_priority) out << ',' << request.priority;
    if (with_session) {
      out << ',';
      if (sessions[i] != kNoRequest) out << sessions[i];
      out << ',' << (follows ? milliseconds(request.arrival) : "");
    }
    out << '\n';
  }
}

void write_trace_jsonl(const Workload& workload, std::ostream& out) {
  const bool with_ids = is_in_blocks(workload);
  const bool with_limit = has_max_tokens(workload);
  const bool with_priority = has_priorities(workload);
  const auto sessions = sessions_of(workload.requests);
  for (std::size_t i = 0; i < workload.requests.size(); ++i) {
    const Request& request = workload.requests[i];
    out << '{';
    if (request.follows == kNoRequest) {
      fmt::print(out, "\"timestamp\": {}, ", milliseconds(request.arrival));
    }
    fmt::print(out, "\"input_length\": {}, \"output_length\": {}", request.input_tokens,
               request.output_tokens);
    if (with_limit) fmt::print(out, ", \"max_tokens\": {}", written_max_tokens(request));
    if (with_ids && request.contents_count > 0) {
      const char* before = ", \"hash_ids\": [";
      for (const ContentSpan& span : contents_of(workload, request)) {
        out << before << span.content;
        before = ", ";
      }
      out << ']';
    }
    if (sessions[i] != kNoRequest) fmt::print(out, ", \"session_id\": \"{}\"", sessions[i]);
    if (request.follows != kNoRequest) {
      fmt::print(out, ", \"delay\": {}", milliseconds(request.arrival));
    }
    if (!workload.class_names.empty()) out << ", \"class\": " << class_json(workload, request);
    if (with_priority) out << ", \"priority\": " << request.priority;
    out << "}\n";
  }
}

std::vector<std::string> lost_in_csv(const Workload& workload) {
  auto lost = lost_in_any(workload);
  if (!workload.contents.empty()) {
    lost.emplace_back("CSV does not record which prompts share a prefix: write a .jsonl");
  }
  return lost;
}

std::vector<std::string> lost_in_jsonl(const Workload& workload) {
  auto lost = lost_in_any(workload);
  if (!is_in_blocks(workload)) {
    lost.emplace_back(
        "the file does not record shared prefixes: they are not blocks of 512 tokens");
  }
  return lost;
}

}  // namespace roofcast
