#include "reports/importers/metric_units.hpp"

#include <array>

namespace roofcast {

std::optional<double> unit_in_si(std::string_view unit) {
  struct Unit {
    std::string_view name;
    double factor;
  };
  constexpr std::array<Unit, 28> kUnits = {{{"s", 1},
                                            {"sec", 1},
                                            {"secs", 1},
                                            {"second", 1},
                                            {"seconds", 1},
                                            {"s/token", 1},
                                            {"ms", 1e-3},
                                            {"ms/token", 1e-3},
                                            {"milliseconds", 1e-3},
                                            {"us", 1e-6},
                                            {"microseconds", 1e-6},
                                            {"ns", 1e-9},
                                            {"nanoseconds", 1e-9},
                                            {"tokens", 1},
                                            {"requests", 1},
                                            {"count", 1},
                                            {"ratio", 1},
                                            {"fraction", 1},
                                            {"percent", 0.01},
                                            {"%", 0.01},
                                            {"tokens/s", 1},
                                            {"tokens/sec", 1},
                                            {"tokens/sec/user", 1},
                                            {"requests/s", 1},
                                            {"requests/sec", 1},
                                            {"queries/s", 1},
                                            {"per sec", 1},
                                            {"tokens/s/user", 1}}};
  for (const Unit& known : kUnits) {
    if (known.name == unit) return known.factor;
  }
  return std::nullopt;
}

double unit_of(const JsonFields& figure, std::string_view key) {
  const auto factor = unit_in_si(figure.text(key).value_or(""));
  if (!factor) figure.fail(key, "units such as ms, s, tokens/s");
  return *factor;
}

}  // namespace roofcast
