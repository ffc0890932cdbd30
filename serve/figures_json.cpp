#include "serve/figures_json.hpp"

#include <utility>

#include "base/error.hpp"
#include "reports/figures/chart_option.hpp"
#include "reports/figures/figure_table.hpp"

namespace roofcast {
namespace {

Json table_json(const Table& table) {
  Json columns = Json::array();
  for (const Column& column : table.columns) {
    columns.push_back({{"title", column.title}, {"right", column.right}});
  }
  return {{"columns", std::move(columns)}, {"rows", rows_json(table)}};
}

Json figure_json(const Figure& figure) {
  return {{"key", figure.key},
          {"title", figure.title},
          {"caption", figure.caption},
          {"option", chart_option(figure)},
          {"table", table_json(figure_table(figure))}};
}

}  // namespace

Json figures_json(const std::vector<Figure>& figures) {
  Json list = Json::array();
  for (const Figure& figure : figures) {
    try {
      list.push_back(figure_json(figure));
    } catch (const Error&) {  // it has nothing to draw; the others do
      continue;
    }
  }
  return list;
}

}  // namespace roofcast
