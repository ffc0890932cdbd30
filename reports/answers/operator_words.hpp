// Names of timed operators for figures.
#pragma once

#include <string>
#include <vector>

#include "model/curves/measured_curve.hpp"

namespace roofcast {

/// The size that varies along a family's curve: "tokens", "bytes".
const char* family_size(OperatorFamily family);

/// "decode attention"
std::string family_words(OperatorFamily family);

/// "bf16 4096 x 14336"
std::string operator_label(const OperatorShape& shape);

/// The points to draw: all of them, but only those of the most frequent y if the curve has two
/// axes.
std::vector<MeasuredPoint> points_drawn(const MeasuredCurve& curve);

}  // namespace roofcast
