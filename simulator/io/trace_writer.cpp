#include "simulator/io/trace_writer.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <ostream>
#include <string>

namespace roofcast {
namespace {

constexpr Nanoseconds kSecond = 1'000'000'000;

std::string quoted(const std::string& name) {
  if (name.find_first_of(",\" ") == std::string::npos) return name;
  std::string result = "\"";
  for (char letter : name) {
    if (letter == '"') result += '"';
    result += letter;
  }
  return result + '"';
}

}  // namespace

void write_trace_csv(const Workload& workload, std::ostream& out) {
  const bool with_class = !workload.class_names.empty();
  const bool with_priority = std::any_of(workload.requests.begin(), workload.requests.end(),
                                         [](const Request& r) { return r.priority != 0; });
  out << "arrival_s,input_tokens,output_tokens" << (with_class ? ",class" : "")
      << (with_priority ? ",priority" : "") << '\n';
  for (const Request& request : workload.requests) {
    out << fmt::format("{}.{:09},{},{}", request.arrival / kSecond, request.arrival % kSecond,
                       request.input_tokens, request.output_tokens);
    if (with_class) {
      out << ',' << quoted(workload.class_names[static_cast<std::size_t>(request.slo_class)]);
    }
    if (with_priority) out << ',' << request.priority;
    out << '\n';
  }
}

}  // namespace roofcast
