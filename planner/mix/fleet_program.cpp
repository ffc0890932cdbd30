#include "planner/mix/fleet_program.hpp"

#include <glpk.h>

#include <cassert>
#include <cmath>
#include <memory>
#include <string>

#include "base/error.hpp"
#include "base/io/shared_library.hpp"

namespace roofcast {
namespace {

/// The functions of GLPK that are used; opened once, when they are first needed.
struct Solver {
  SharedLibrary glpk{"libglpk.so.40"};

#define ROOFCAST_FROM_GLPK(name) decltype(::name)* name = glpk.function<decltype(::name)>(#name)
  ROOFCAST_FROM_GLPK(glp_term_out);
  ROOFCAST_FROM_GLPK(glp_create_prob);
  ROOFCAST_FROM_GLPK(glp_delete_prob);
  ROOFCAST_FROM_GLPK(glp_set_obj_dir);
  ROOFCAST_FROM_GLPK(glp_set_obj_coef);
  ROOFCAST_FROM_GLPK(glp_add_rows);
  ROOFCAST_FROM_GLPK(glp_set_row_bnds);
  ROOFCAST_FROM_GLPK(glp_set_mat_row);
  ROOFCAST_FROM_GLPK(glp_add_cols);
  ROOFCAST_FROM_GLPK(glp_set_col_bnds);
  ROOFCAST_FROM_GLPK(glp_set_col_kind);
  ROOFCAST_FROM_GLPK(glp_init_iocp);
  ROOFCAST_FROM_GLPK(glp_intopt);
  ROOFCAST_FROM_GLPK(glp_mip_status);
  ROOFCAST_FROM_GLPK(glp_mip_obj_val);
  ROOFCAST_FROM_GLPK(glp_mip_col_val);
#undef ROOFCAST_FROM_GLPK
};

const Solver& solver() {
  static const Solver opened;
  return opened;
}

/// A row of the program: coefficients of some columns.
class Row {
 public:
  Row& add(int column, double coefficient) {
    columns_.push_back(column);
    coefficients_.push_back(coefficient);
    return *this;
  }
  int count() const { return static_cast<int>(columns_.size()) - 1; }
  const int* columns() const { return columns_.data(); }
  const double* coefficients() const { return coefficients_.data(); }

 private:
  std::vector<int> columns_{0};  // GLPK's arrays begin at 1
  std::vector<double> coefficients_{0};
};

/// The program's columns (GLPK's numbers): for every option its replicas, whether it is used, and
/// whether it serves each band.
class Problem {
 public:
  explicit Problem(const FleetProgram& program)
      : program_(program),
        problem_(solver().glp_create_prob(), [](glp_prob* one) { solver().glp_delete_prob(one); }) {
    solver().glp_set_obj_dir(problem_.get(), GLP_MIN);
    add_columns();
    for (std::size_t band = 0; band < program.bands; ++band) give_to_one_option(band);
    for (std::size_t option = 0; option < program.options.size(); ++option) {
      have_enough_units(option);
      if (program.contiguous) keep_together(option);
    }
    limit_sums();
  }

  std::optional<FleetChoice> solved() {
    glp_iocp parameters;
    solver().glp_init_iocp(&parameters);
    parameters.msg_lev = GLP_MSG_OFF;
    parameters.presolve = GLP_ON;
    parameters.gmi_cuts = GLP_ON;
    parameters.mir_cuts = GLP_ON;
    const int failure = solver().glp_intopt(problem_.get(), &parameters);
    if (failure == GLP_ENOPFS || failure == GLP_ENODFS) return std::nullopt;
    if (failure != 0) throw Error("GLPK could not solve the program of a mixed fleet");
    if (solver().glp_mip_status(problem_.get()) != GLP_OPT) return std::nullopt;
    return choice();
  }

 private:
  int units_of(std::size_t option) const { return first(option); }
  int used(std::size_t option) const { return first(option) + 1; }
  int serves(std::size_t option, std::size_t band) const {
    return first(option) + 2 + static_cast<int>(band);
  }
  int first(std::size_t option) const {
    return 1 + static_cast<int>(option * (2 + program_.bands));
  }

  void add_columns() {
    glp_prob* problem = problem_.get();
    const std::size_t options = program_.options.size();
    solver().glp_add_cols(problem, static_cast<int>(options * (2 + program_.bands)));
    for (std::size_t i = 0; i < options; ++i) {
      const FleetOption& option = program_.options[i];
      assert(option.busy.size() == program_.bands);
      solver().glp_set_col_kind(problem, units_of(i), GLP_IV);
      if (option.max_units > 0) {
        solver().glp_set_col_bnds(problem, units_of(i), GLP_DB, 0,
                                  static_cast<double>(option.max_units));
      } else {
        solver().glp_set_col_bnds(problem, units_of(i), GLP_FX, 0, 0);
      }
      solver().glp_set_obj_coef(problem, units_of(i), option.unit_objective);
      solver().glp_set_col_kind(problem, used(i), GLP_BV);
      for (std::size_t band = 0; band < program_.bands; ++band) {
        solver().glp_set_col_kind(problem, serves(i, band), GLP_BV);
        if (!option.busy[band]) {
          solver().glp_set_col_bnds(problem, serves(i, band), GLP_FX, 0, 0);
        }
      }
    }
  }

  void add_row(const Row& row, int kind, double low, double high) {
    const int index = solver().glp_add_rows(problem_.get(), 1);
    solver().glp_set_row_bnds(problem_.get(), index, kind, low, high);
    solver().glp_set_mat_row(problem_.get(), index, row.count(), row.columns(), row.coefficients());
  }

  void give_to_one_option(std::size_t band) {
    Row row;
    for (std::size_t i = 0; i < program_.options.size(); ++i) row.add(serves(i, band), 1);
    add_row(row, GLP_FX, 1, 1);
  }

  /// As many units as its bands keep busy; none unless it is used, and some band if it is.
  void have_enough_units(std::size_t option) {
    const FleetOption& one = program_.options[option];
    Row busy, some;
    busy.add(units_of(option), 1);
    for (std::size_t band = 0; band < program_.bands; ++band) {
      if (!one.busy[band]) continue;
      busy.add(serves(option, band), -program_.load * *one.busy[band]);
      some.add(serves(option, band), 1);
      add_row(Row().add(used(option), 1).add(serves(option, band), -1), GLP_LO, 0, 0);
    }
    add_row(busy, GLP_LO, 0, 0);
    add_row(some.add(used(option), -1), GLP_LO, 0, 0);
    add_row(Row().add(units_of(option), 1).add(used(option), -1), GLP_LO, 0, 0);
  }

  /// What serves the first and the last of three bands also serves the one between.
  void keep_together(std::size_t option) {
    for (std::size_t low = 0; low + 2 < program_.bands; ++low) {
      for (std::size_t high = low + 2; high < program_.bands; ++high) {
        for (std::size_t between = low + 1; between < high; ++between) {
          add_row(Row()
                      .add(serves(option, low), 1)
                      .add(serves(option, high), 1)
                      .add(serves(option, between), -1),
                  GLP_UP, 0, 1);
        }
      }
    }
  }

  void limit_sums() {
    Row pools;
    for (std::size_t i = 0; i < program_.options.size(); ++i) pools.add(used(i), 1);
    const auto least = static_cast<double>(program_.min_pools);
    const auto most = static_cast<double>(program_.max_pools);
    add_row(pools, least == most ? GLP_FX : GLP_DB, least, most);
    for (std::size_t limit = 0; limit < program_.limits.size(); ++limit) {
      Row sum;
      for (std::size_t i = 0; i < program_.options.size(); ++i) {
        const double use = program_.options[i].uses[limit];
        if (use != 0) sum.add(units_of(i), use);
      }
      if (sum.count() > 0) add_row(sum, GLP_UP, 0, program_.limits[limit]);
    }
  }

  FleetChoice choice() const {
    const auto value = [&](int column) {
      return std::llround(solver().glp_mip_col_val(problem_.get(), column));
    };
    FleetChoice choice{.option_of = std::vector<std::size_t>(program_.bands)};
    for (std::size_t i = 0; i < program_.options.size(); ++i) {
      choice.units.push_back(value(units_of(i)));
      choice.objective +=
          program_.options[i].unit_objective * static_cast<double>(choice.units.back());
      for (std::size_t band = 0; band < program_.bands; ++band) {
        if (value(serves(i, band)) == 1) choice.option_of[band] = i;
      }
    }
    return choice;
  }

  const FleetProgram& program_;
  std::unique_ptr<glp_prob, void (*)(glp_prob*)> problem_;
};

}  // namespace

bool has_fleet_solver() {
  try {
    solver();
    return true;
  } catch (const Error&) {
    return false;
  }
}

void require_fleet_solver() {
  try {
    solver();
  } catch (const Error& error) {
    throw Error(std::string("`mix` needs GLPK (Debian: libglpk40): ") + error.what());
  }
}

std::optional<FleetChoice> solve(const FleetProgram& program) {
  if (program.options.empty() || program.bands == 0) return std::nullopt;
  require_fleet_solver();
  solver().glp_term_out(GLP_OFF);
  return Problem(program).solved();
}

}  // namespace roofcast
