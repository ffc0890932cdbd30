// Latencies of a stored request, from when it left the client. reports/schema.sql has them as the
// view request_latencies; figures of a run count finished requests only.
#pragma once

#include <optional>

#include "reports/store.hpp"

namespace roofcast {

inline double sent_of(const RequestRow& row) { return row.sent_s.value_or(row.arrival_s); }

inline std::optional<double> ttft_of(const RequestRow& row) {
  if (!row.first_token_s || !row.finished_s) return std::nullopt;
  return *row.first_token_s - sent_of(row);
}

/// (last - first token) / (n - 1); none for a single token.
inline std::optional<double> tpot_of(const RequestRow& row) {
  if (!row.first_token_s || !row.finished_s || row.output_tokens < 2) return std::nullopt;
  return (*row.finished_s - *row.first_token_s) / static_cast<double>(row.output_tokens - 1);
}

inline std::optional<double> e2e_of(const RequestRow& row) {
  if (!row.finished_s) return std::nullopt;
  return *row.finished_s - sent_of(row);
}

/// A latency under the name of its metric; seconds, none if the request has none.
struct StoredLatency {
  const char* name = "";
  std::optional<double> (*of)(const RequestRow&) = nullptr;
};

inline constexpr StoredLatency kStoredLatencies[] = {
    {"ttft_s", ttft_of}, {"tpot_s", tpot_of}, {"e2e_s", e2e_of}};

}  // namespace roofcast
