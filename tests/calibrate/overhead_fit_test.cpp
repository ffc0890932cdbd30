#include "calibrate/overhead_fit.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <span>
#include <vector>

namespace roofcast {
namespace {

using ::testing::HasSubstr;
using ::testing::IsEmpty;

/// Time per token of a batch of `sequences`: device time, a time per step, and a time per sequence.
double token_time(double device, double sequences, double per_step, double per_sequence) {
  return device + per_step + per_sequence * sequences;
}

struct Batch {
  double device = 0;
  double sequences = 0;
};
const std::vector<Batch> kBatches{{8e-3, 1}, {8.5e-3, 8}, {9e-3, 32}, {11e-3, 128}};

PredictFigures tokens_of(const std::vector<Batch>& batches) {
  return [batches](std::span<const double> terms) {
    std::vector<double> times;
    for (const Batch& batch : batches) {
      times.push_back(token_time(batch.device, batch.sequences, terms[0], terms[1]));
    }
    return times;
  };
}

std::vector<MeasuredFigure> measured(const PredictFigures& truth, std::vector<double> terms) {
  std::vector<MeasuredFigure> figures;
  for (const double value : truth(terms)) figures.push_back({figures.size(), value});
  return figures;
}

const std::vector<OverheadTerm> kOverheadTerms{{"per step", 0, 1e-3}, {"per sequence", 0, 1e-5}};

TEST(OverheadFit, FindsWhatWasPlanted) {
  const PredictFigures predict = tokens_of(kBatches);
  const OverheadFit fit =
      fit_overheads(kOverheadTerms, measured(predict, {0.6e-3, 12e-6}), predict);
  // The figures are linear in the terms and without noise: one step is exact except for rounding.
  EXPECT_NEAR(fit.terms[0].value, 0.6e-3, 1e-9);
  EXPECT_NEAR(fit.terms[1].value, 12e-6, 1e-11);
  EXPECT_THAT(fit.terms[0].doubt, IsEmpty());
  EXPECT_THAT(fit.terms[1].doubt, IsEmpty());
  EXPECT_LT(fit.fitted.p90, 1e-6);
  EXPECT_LT(fit.leave_one_run_out.value().p90, 1e-6);
  // Before: 8 / 8.612, 8.5 / 9.196, 9 / 9.984 and 11 / 13.136 of what was measured.
  EXPECT_NEAR(fit.start.mean, (0.0711 + 0.0757 + 0.0986 + 0.1626) / 4, 1e-4);
}

TEST(OverheadFit, ATermIsNeverNegative) {
  const PredictFigures predict = tokens_of(kBatches);
  const OverheadFit fit =
      fit_overheads(kOverheadTerms, measured(predict, {0.6e-3, -5e-6}), predict);
  EXPECT_EQ(fit.terms[1].value, 0);
  EXPECT_GT(fit.terms[0].value, 0);
}

TEST(OverheadFit, SaysWhichTermTheRunsDoNotTell) {
  // One batch size only: a sequence's share looks like the step's.
  const std::vector<Batch> alike{{8e-3, 32}, {8.1e-3, 32}, {7.9e-3, 32}};
  const PredictFigures predict = tokens_of(alike);
  std::vector<OverheadTerm> terms = kOverheadTerms;
  terms[1].start = 2e-6;
  const OverheadFit fit = fit_overheads(terms, measured(predict, {0.6e-3, 2e-6}), predict);
  EXPECT_EQ(fit.terms[1].value, 2e-6);
  EXPECT_EQ(fit.terms[1].doubt, "these runs cannot distinguish it from per step");
  EXPECT_NEAR(fit.terms[0].value, 0.6e-3, 1e-9);
}

TEST(OverheadFit, SaysWhichTermMovesNothing) {
  const PredictFigures time = tokens_of(kBatches);
  const PredictFigures predict = [&](std::span<const double> terms) {
    const std::vector<double> used{terms[0], 0.0};
    return time(used);
  };
  const OverheadFit fit = fit_overheads(kOverheadTerms, measured(predict, {0.6e-3, 0}), predict);
  EXPECT_EQ(fit.terms[1].doubt, "does not affect any figure of these runs");
}

TEST(OverheadFit, WorksWhereHostTimeHidesBehindTheDevice) {
  // The longer of device and host: the host shows in the small batches alone.
  const PredictFigures predict = [](std::span<const double> terms) {
    std::vector<double> times;
    for (const Batch& batch : kBatches) {
      times.push_back(std::max(batch.device, terms[0] + terms[1] * batch.sequences));
    }
    return times;
  };
  std::vector<OverheadTerm> terms = kOverheadTerms;
  terms[0].start = 8.4e-3;
  terms[1].start = 1e-5;
  const OverheadFit fit = fit_overheads(terms, measured(predict, {8.9e-3, 1e-5}), predict);
  EXPECT_LT(fit.fitted.p90, 1e-3);
}

TEST(OverheadFit, ATermSmallerThanItsErrorIsNotIdentified) {
  // No time per sequence, and figures that are 1 % too high at both ends and too low between: what
  // is left has no slope, so that any slope found is less than what the noise lets it err by.
  const PredictFigures predict = tokens_of(kBatches);
  std::vector<MeasuredFigure> figures = measured(predict, {1e-3, 0});
  const double noise[] = {1.01, 0.99, 0.99, 1.01};
  for (std::size_t i = 0; i < figures.size(); ++i) figures[i].value *= noise[i];
  std::vector<OverheadTerm> terms = kOverheadTerms;
  terms[1].start = 1e-7;
  const OverheadFit fit = fit_overheads(terms, figures, predict);
  EXPECT_EQ(fit.terms[1].doubt, "smaller than its own error");
  EXPECT_EQ(fit.terms[1].value, 1e-7);
  // Of four figures with 1 % noise the step's time errs by some 0.5 % of 10 ms: half of 0.1 ms.
  EXPECT_NEAR(fit.terms[0].value, 1e-3, 0.1e-3);
}

TEST(OverheadFit, ATermWhoseStartIsRuledOutIsKnownToBeSmall) {
  // The same figures. A slope errs by some 1 % of 10 ms over 128 sequences, about 1 us; the start
  // value of 20 us would make the largest batch 2.6 ms slower than it was.
  const PredictFigures predict = tokens_of(kBatches);
  std::vector<MeasuredFigure> figures = measured(predict, {1e-3, 0});
  const double noise[] = {1.01, 0.99, 0.99, 1.01};
  for (std::size_t i = 0; i < figures.size(); ++i) figures[i].value *= noise[i];
  std::vector<OverheadTerm> terms = kOverheadTerms;
  terms[1].start = 20e-6;
  const OverheadFit fit = fit_overheads(terms, figures, predict);
  EXPECT_THAT(fit.terms[1].doubt, IsEmpty());
  EXPECT_LT(fit.terms[1].value, 3e-6);
}

TEST(OverheadFit, ARunThatCannotBeLeftOutLeavesNoSuchError) {
  // Both figures are one run's: whatever is learnt is learnt from it.
  const PredictFigures predict = tokens_of({{8e-3, 1}, {8e-3, 101}});
  std::vector<MeasuredFigure> figures = measured(predict, {1e-3, 1e-5});
  figures[1].run = 0;
  const OverheadFit one = fit_overheads(kOverheadTerms, figures, predict);
  EXPECT_THAT(one.terms[0].doubt, IsEmpty());
  EXPECT_FALSE(one.leave_one_run_out.has_value());
  EXPECT_EQ(one.terms[0].standard_error, 0);  // two terms of two figures: no figure to spare
  // Two runs of a figure each and two terms: either alone tells but one.
  figures[1].run = 1;
  EXPECT_FALSE(fit_overheads(kOverheadTerms, figures, predict).leave_one_run_out.has_value());
}

TEST(OverheadFit, LeavingARunOutShowsWhatItAloneSaid) {
  // Two small batches tell a step's time; the large one alone tells a sequence's, so that without
  // it nothing is known of that term and its own figure is missed by all of it.
  const std::vector<Batch> batches{{8e-3, 1}, {8e-3, 1}, {8e-3, 101}};
  const PredictFigures predict = tokens_of(batches);
  const OverheadFit fit = fit_overheads(kOverheadTerms, measured(predict, {1e-3, 1e-5}), predict);
  EXPECT_LT(fit.fitted.p90, 1e-6);
  // Of 10.01 ms, the 1 ms of a hundred more sequences: 10 %. It is the worst of three, so its share
  // on average is a third at most, the others being exact.
  EXPECT_GT(fit.leave_one_run_out.value().p90, 0.05);
}

TEST(OverheadFit, MoreTermsThanFiguresAreNotToldApart) {
  const std::vector<Batch> one{{8e-3, 4}};
  const PredictFigures predict = tokens_of(one);
  const OverheadFit fit = fit_overheads(kOverheadTerms, measured(predict, {1e-3, 0}), predict);
  EXPECT_NEAR(fit.terms[0].value, 1e-3, 1e-9);
  EXPECT_THAT(fit.terms[1].doubt, HasSubstr("more terms than figures"));
}

}  // namespace
}  // namespace roofcast
