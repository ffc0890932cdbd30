#include "planner/search/candidate_figures.hpp"

#include <nlohmann/json.hpp>

#include <vector>

namespace roofcast {
namespace {

using Json = nlohmann::ordered_json;

template <class Value>
Json or_null(const std::optional<Value>& value) {
  return value ? Json(*value) : Json(nullptr);
}

std::optional<double> number_or_none(const Json& json) {
  if (json.is_null()) return std::nullopt;
  return json.get<double>();
}

Json verdict_json(const SloVerdict& verdict) {
  Json margins = Json::array();
  for (const TargetMargin& margin : verdict.margins) {
    margins.push_back({margin.what, margin.limit_s, margin.achieved_s, margin.margin});
  }
  return {{"holds", verdict.holds},
          {"saturated", verdict.saturated},
          {"unserved", verdict.unserved},
          {"margins", std::move(margins)},
          {"binding", verdict.binding},
          {"worst_margin", verdict.worst_margin},
          {"goodput_share", or_null(verdict.goodput_share)}};
}

SloVerdict read_verdict(const Json& json) {
  SloVerdict verdict{.holds = json.at("holds"),
                     .saturated = json.at("saturated"),
                     .unserved = json.at("unserved"),
                     .binding = json.at("binding"),
                     .worst_margin = json.at("worst_margin"),
                     .goodput_share = number_or_none(json.at("goodput_share"))};
  for (const Json& margin : json.at("margins")) {
    verdict.margins.push_back({.what = margin.at(0),
                               .limit_s = margin.at(1),
                               .achieved_s = margin.at(2),
                               .margin = margin.at(3)});
  }
  return verdict;
}

}  // namespace

std::string to_text(const CandidateFigures& figures) {
  const Json json = {{"verdict", verdict_json(figures.verdict)},
                     {"offered_rate_per_s", figures.offered_rate_per_s},
                     {"request_rate_per_s", figures.request_rate_per_s},
                     {"output_tokens_per_s", figures.output_tokens_per_s},
                     {"ttft_p95_s", figures.ttft_p95_s},
                     {"tpot_p95_s", figures.tpot_p95_s},
                     {"e2e_p95_s", figures.e2e_p95_s},
                     {"mean_kv_use", figures.mean_kv_use},
                     {"busy_share", figures.busy_share},
                     {"requests", figures.requests}};
  return json.dump();
}

CandidateFigures candidate_figures(const std::string& text) {
  const Json json = Json::parse(text);
  return {.verdict = read_verdict(json.at("verdict")),
          .offered_rate_per_s = json.at("offered_rate_per_s"),
          .request_rate_per_s = json.at("request_rate_per_s"),
          .output_tokens_per_s = json.at("output_tokens_per_s"),
          .ttft_p95_s = json.at("ttft_p95_s"),
          .tpot_p95_s = json.at("tpot_p95_s"),
          .e2e_p95_s = json.at("e2e_p95_s"),
          .mean_kv_use = json.at("mean_kv_use"),
          .busy_share = json.at("busy_share"),
          .requests = json.at("requests")};
}

std::string to_text(const FinalistFigures& figures) {
  Json causes = Json::array();
  for (const Cause& cause : figures.confidence.causes) {
    causes.push_back({cause.name, or_null(cause.flips_at)});
  }
  const Json json = {{"holds", figures.confidence.holds},
                     {"probability", figures.confidence.probability},
                     {"causes", std::move(causes)},
                     {"capacity_factor", or_null(figures.capacity_factor)},
                     {"capacity_bounded", figures.capacity_bounded},
                     {"capacity_monotone", figures.capacity_monotone},
                     {"capacity_rate_per_s", figures.capacity_rate_per_s},
                     {"capacity_requests_needed", figures.capacity_requests_needed},
                     {"simulations", figures.simulations}};
  return json.dump();
}

FinalistFigures finalist_figures(const std::string& text) {
  const Json json = Json::parse(text);
  FinalistFigures figures{.capacity_factor = number_or_none(json.at("capacity_factor")),
                          .capacity_bounded = json.at("capacity_bounded"),
                          .capacity_monotone = json.at("capacity_monotone"),
                          .capacity_rate_per_s = json.at("capacity_rate_per_s"),
                          .capacity_requests_needed = json.at("capacity_requests_needed"),
                          .simulations = json.at("simulations")};
  figures.confidence.holds = json.at("holds");
  figures.confidence.probability = json.at("probability");
  for (const Json& cause : json.at("causes")) {
    figures.confidence.causes.push_back(
        {.name = cause.at(0), .flips_at = number_or_none(cause.at(1))});
  }
  return figures;
}

}  // namespace roofcast
