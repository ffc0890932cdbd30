// The figures of the lesson, by the keys that its steps name, and of its sampling playground.
#pragma once

#include <vector>

#include "reports/figures/figure.hpp"
#include "roofcast/learn.hpp"
#include "roofcast/sampling.hpp"

namespace roofcast {

/// staircase_token, staircase_total, lesson_roofline, lesson_batches, lesson_drafts,
/// lesson_formats, lesson_blocks, lesson_classes, lesson_loads, lesson_busy.
std::vector<Figure> lesson_figures(const LessonAnswer& answer);

/// The probability of each word: the model's, and after temperature, top-k and top-p.
Figure sampling_figure(const SamplingAnswer& answer);

}  // namespace roofcast
