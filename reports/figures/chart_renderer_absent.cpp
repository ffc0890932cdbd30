// A build without charts (ROOFCAST_CHARTS=OFF).
#include "base/error.hpp"
#include "reports/figures/chart_renderer.hpp"

namespace roofcast {

struct ChartRenderer::Impl {};

ChartRenderer::ChartRenderer() { throw Error("this build has no charts (ROOFCAST_CHARTS=OFF)"); }

ChartRenderer::~ChartRenderer() = default;

std::string ChartRenderer::svg(const Json&, ChartSize, std::string_view) { return {}; }

bool has_charts() { return false; }

std::string_view chart_script() { return {}; }

}  // namespace roofcast
