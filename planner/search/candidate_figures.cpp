#include "planner/search/candidate_figures.hpp"

#include <fmt/format.h>

#include <array>
#include <nlohmann/json.hpp>
#include <sstream>
#include <string_view>
#include <vector>

#include "base/json.hpp"

namespace roofcast {
namespace {

constexpr std::array<std::string_view, 2> kKinds = {"trial", "finalist"};

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
          {"undecided", verdict.undecided},
          {"unserved", verdict.unserved},
          {"margins", std::move(margins)},
          {"binding", verdict.binding},
          {"worst_margin", verdict.worst_margin},
          {"goodput_share", or_null(verdict.goodput_share)}};
}

SloVerdict read_verdict(const Json& json) {
  SloVerdict verdict{.holds = json.at("holds"),
                     .saturated = json.at("saturated"),
                     .undecided = json.at("undecided"),
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

Json figures_json(const CandidateFigures& figures) {
  return {{"verdict", verdict_json(figures.verdict)},
          {"offered_rate_per_s", figures.offered_rate_per_s},
          {"request_rate_per_s", figures.request_rate_per_s},
          {"output_tokens_per_s", figures.output_tokens_per_s},
          {"ttft_p95_s", figures.ttft_p95_s},
          {"tpot_p95_s", figures.tpot_p95_s},
          {"e2e_p95_s", figures.e2e_p95_s},
          {"mean_kv_use", figures.mean_kv_use},
          {"busy_share", figures.busy_share},
          {"requests", figures.requests},
          {"probability", or_null(figures.probability)},
          {"further_simulations", figures.further_simulations}};
}

CandidateFigures read_candidate(const Json& json) {
  return {.verdict = read_verdict(json.at("verdict")),
          .offered_rate_per_s = json.at("offered_rate_per_s"),
          .request_rate_per_s = json.at("request_rate_per_s"),
          .output_tokens_per_s = json.at("output_tokens_per_s"),
          .ttft_p95_s = json.at("ttft_p95_s"),
          .tpot_p95_s = json.at("tpot_p95_s"),
          .e2e_p95_s = json.at("e2e_p95_s"),
          .mean_kv_use = json.at("mean_kv_use"),
          .busy_share = json.at("busy_share"),
          .requests = json.at("requests"),
          .probability = number_or_none(json.at("probability")),
          .further_simulations = json.at("further_simulations")};
}

Json figures_json(const FinalistFigures& figures) {
  Json causes = Json::array();
  for (const Cause& cause : figures.confidence.causes) {
    causes.push_back({cause.name, or_null(cause.flips_at)});
  }
  Json utilisation = Json::array();
  for (const PoolUtilisation& use : figures.utilisation) {
    utilisation.push_back({use.pool, use.mfu, use.mbu});
  }
  Json cost = Json::array();
  for (const CostFigure& figure : kCostFigures) {
    cost.push_back(or_null(figures.cost.*figure.value));
  }
  return {{"holds", figures.confidence.holds},
          {"probability", figures.confidence.probability},
          {"causes", std::move(causes)},
          {"capacity_factor", or_null(figures.capacity_factor)},
          {"capacity_bounded", figures.capacity_bounded},
          {"capacity_monotone", figures.capacity_monotone},
          {"capacity_rate_per_s", figures.capacity_rate_per_s},
          {"capacity_decided", figures.capacity_decided},
          {"utilisation", std::move(utilisation)},
          {"cost", std::move(cost)},
          {"simulations", figures.simulations}};
}

FinalistFigures read_finalist(const Json& json) {
  FinalistFigures figures{.capacity_factor = number_or_none(json.at("capacity_factor")),
                          .capacity_bounded = json.at("capacity_bounded"),
                          .capacity_monotone = json.at("capacity_monotone"),
                          .capacity_rate_per_s = json.at("capacity_rate_per_s"),
                          .capacity_decided = json.at("capacity_decided"),
                          .simulations = json.at("simulations")};
  figures.confidence.holds = json.at("holds");
  figures.confidence.probability = json.at("probability");
  for (const Json& cause : json.at("causes")) {
    figures.confidence.causes.push_back(
        {.name = cause.at(0), .flips_at = number_or_none(cause.at(1))});
  }
  for (const Json& use : json.at("utilisation")) {
    figures.utilisation.push_back({.pool = use.at(0), .mfu = use.at(1), .mbu = use.at(2)});
  }
  for (std::size_t i = 0; i < kCostFigures.size(); ++i) {
    figures.cost.*kCostFigures[i].value = number_or_none(json.at("cost").at(i));
  }
  return figures;
}

}  // namespace

std::string question_text(const FigureQuestion& question, const std::string& digest) {
  return fmt::format("{} {} {} {}", kKinds[static_cast<std::size_t>(question.kind)], question.shape,
                     question.units, digest);
}

std::optional<FigureQuestion> parse_question(const std::string& text) {
  std::istringstream words(text);
  std::string kind;
  FigureQuestion question;
  words >> kind >> question.shape >> question.units;
  if (!words) return std::nullopt;
  for (std::size_t i = 0; i < kKinds.size(); ++i) {
    if (kind != kKinds[i]) continue;
    question.kind = static_cast<FigureKind>(i);
    return question;
  }
  return std::nullopt;
}

std::string to_text(const Figures& figures) {
  return std::visit([](const auto& one) { return figures_json(one); }, figures).dump();
}

Figures parse_figures(FigureKind kind, const std::string& text) {
  const Json json = Json::parse(text);
  if (kind == FigureKind::trial) return read_candidate(json);
  return read_finalist(json);
}

}  // namespace roofcast
