#include "model/curves/kernel_tables.hpp"

#include <functional>
#include <set>
#include <utility>

#include "base/text.hpp"
#include "model/curves/curve_source.hpp"

namespace roofcast {

struct KernelTables::Opened {
  /// A group's curves, once unpacked.
  struct Slot {
    std::once_flag once;
    CurveGroup curves;
  };

  explicit Opened(Contents given)
      : contents(std::move(given)), slots(std::make_unique<Slot[]>(contents.groups.size())) {
    for (const TableGroup& group : contents.groups) {
      if (group.source == kAiter) has_aiter = true;
      if (!is_engine(group.source)) continue;
      const std::string_view of_engine = group.source;
      owners.insert(lower(of_engine.substr(0, of_engine.find(' '))));
    }
  }

  Contents contents;
  std::set<std::string, std::less<>> owners;  // engines whose kernels are in there
  bool has_aiter = false;
  std::unique_ptr<Slot[]> slots;
};

OperatorShape CurveGroup::shape(std::size_t place) const {
  OperatorShape shape = any;
  set_shape(place, shape);
  return shape;
}

std::vector<MeasuredCurve> CurveGroup::all() const {
  std::vector<MeasuredCurve> curves;
  curves.reserve(size);
  for (std::size_t place = 0; place < size; ++place) curves.push_back(curve(place));
  return curves;
}

CurveGroup curve_group(std::vector<MeasuredCurve> curves) {
  if (curves.empty()) return {};
  const auto shared = std::make_shared<const std::vector<MeasuredCurve>>(std::move(curves));
  return {.size = shared->size(),
          .any = shared->front().shape,
          .set_shape = [shared](std::size_t place,
                                OperatorShape& shape) { shape = (*shared)[place].shape; },
          .curve = [shared](std::size_t place) { return (*shared)[place]; }};
}

GroupKey group_key(const OperatorShape& shape) {
  return {.family = shape.family,
          .name = shape.name,
          .format = shape.format,
          .cache = shape.cache,
          .exchange = shape.exchange};
}

KernelTables::KernelTables(std::string name, std::function<Contents()> open)
    : name_(std::move(name)), open_(std::move(open)) {}

KernelTables::~KernelTables() = default;

KernelTables::Opened& KernelTables::opened() const {
  std::call_once(once_, [this] { opened_ = std::make_unique<Opened>(open_()); });
  return *opened_;
}

const TableRecord& KernelTables::record() const { return opened().contents.record; }

const std::vector<TableGroup>& KernelTables::groups() const { return opened().contents.groups; }

bool KernelTables::answer_for(std::string_view engine) const {
  const Opened& all = opened();
  return all.owners.contains(kernel_owner(engine)) || (all.has_aiter && runs_aiter(engine));
}

const CurveGroup& KernelTables::curves(std::size_t group) const {
  Opened& all = opened();
  Opened::Slot& slot = all.slots[group];
  std::call_once(slot.once, [&] { slot.curves = all.contents.unpack(group); });
  return slot.curves;
}

}  // namespace roofcast
