#include "planner/search/candidate_figures.hpp"

#include <fmt/format.h>

#include <array>
#include <sstream>
#include <string_view>

#include "planner/search/figures_record.hpp"

namespace roofcast {
namespace {

constexpr std::array<std::string_view, 2> kKinds = {"trial", "finalist"};

/// With what answers leave out or list apart.
struct KeptTrial {
  CandidateFigures of{};
};

template <class Visitor>
void members(Visitor& visit, KeptTrial& kept) {
  members(visit, kept.of);
  visit("probability", kept.of.probability, "that it holds");
  visit("further_simulations", kept.of.further_simulations, "for the probability");
}

struct KeptFinalist {
  FinalistFigures of{};
};

template <class Visitor>
void members(Visitor& visit, KeptFinalist& kept) {
  visit("holds", kept.of.confidence.holds, "as predicted");
  members(visit, kept.of);
  members(visit, kept.of.cost);
  visit("simulations", kept.of.simulations, "of the finalist");
}

Json kept_json(const CandidateFigures& figures) { return record_to_json(KeptTrial{figures}); }

Json kept_json(const FinalistFigures& figures) { return record_to_json(KeptFinalist{figures}); }

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
  return std::visit([](const auto& one) { return kept_json(one); }, figures).dump();
}

Figures parse_figures(FigureKind kind, const std::string& text) {
  const Json json = Json::parse(text);
  if (kind == FigureKind::trial) return record_from_json<KeptTrial>(json).of;
  return record_from_json<KeptFinalist>(json).of;
}

}  // namespace roofcast
