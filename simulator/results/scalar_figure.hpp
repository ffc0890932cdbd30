// Figures of a result that are one number, each described where its member is declared
// (engine_use.hpp, load_result.hpp). All that write, show, store or compare figures are loops over
// these lists.
#pragma once

#include <optional>
#include <type_traits>
#include <variant>

#include "base/units.hpp"

namespace roofcast {

/// How a figure is printed. Seconds and rates are told by its name (`makespan_s`, `..._per_s`).
enum class FigureForm { number, count, share };

/// Where a figure appears; all of them are in the JSON of an answer.
struct FigurePlaces {
  bool stored = true;         // in the store: compare, whatif and validate have it
  bool zero_stored = true;    // also if it is 0
  bool own_row = true;        // a row of the terminal's table; otherwise part of another row there
  bool at_each_load = false;  // in each point of capacity's curve
};

/// How a figure is named and shown.
struct FigureWords {
  const char* title;    // of a row or column
  const char* meaning;  // one clause
  FigureForm form = FigureForm::number;
  FigurePlaces places{};
  std::optional<bool> more_is_better{};  // unset: neither more nor less is
};

/// A figure: its key in answers, in the store and of `metric`; a member or a function that returns
/// an optional number; and its words.
template <class... Values>
struct ScalarFigure {
  const char* name;
  std::variant<Values...> value;
  FigureWords words;
};

template <class Record, class... Values>
std::optional<double> number_of(const Record& record, const ScalarFigure<Values...>& figure) {
  return std::visit(
      [&](const auto& value) -> std::optional<double> {
        if constexpr (std::is_member_object_pointer_v<std::decay_t<decltype(value)>>) {
          using Number = std::decay_t<decltype(record.*value)>;
          if constexpr (std::is_same_v<Number, Seconds>) {
            return (record.*value).value;
          } else if constexpr (std::is_arithmetic_v<Number>) {
            return static_cast<double>(record.*value);
          } else {
            return record.*value;
          }
        } else {
          return value(record);
        }
      },
      figure.value);
}

/// Lists it with the others of a record (base/record.hpp). A function's number is written only.
template <class Visitor, class Record, class... Values>
void visit_figure(Visitor& visit, Record& record, const ScalarFigure<Values...>& figure) {
  std::visit(
      [&](const auto& value) {
        if constexpr (std::is_member_object_pointer_v<std::decay_t<decltype(value)>>) {
          visit(figure.name, record.*value, figure.words.meaning);
        } else {
          double number = value(record).value_or(0);
          visit(figure.name, number, figure.words.meaning);
        }
      },
      figure.value);
}

}  // namespace roofcast
