// Marks of a figure: told apart by shape as well as by a palette safe for the colour blind (Okabe
// and Ito, 2008), and the style that all figures share, readable in light and dark.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace roofcast {

/// Half a mark's width, in the SVG's own units.
inline constexpr double kMarkSize = 3.6;

/// The colour of the n-th kind; beyond six they come again, with other shapes.
std::string_view svg_colour(std::size_t kind);

/// A mark of the n-th kind around a point, with what is shown when the pointer rests on it.
std::string svg_mark(std::size_t kind, double x, double y, const std::string& label);

/// The <style> of every figure: texts .head .title .axis .tick .end, lines .frame .grid .diagonal
/// .band .line .whisker, marks .mark.
std::string_view svg_style();

}  // namespace roofcast
