// Physical quantities: doubles with a unit in their type. SI base units inside; powers of ten, GiB
// and milliseconds exist only where numbers enter or leave (cli/, reports/, serve/). Usable from
// CUDA host code. The conversions between quantities are listed at the end.
#pragma once

#include <compare>
#include <cstdint>

namespace roofcast {

/// A number of `Tag`s. Construction is explicit; read `.value` only where a number leaves the
/// program (printing, SQL, a kernel launch, linear algebra).
template <class Tag>
struct Quantity {
  double value = 0.0;

  constexpr Quantity() = default;
  constexpr explicit Quantity(double v) : value(v) {}

  // clang-tidy 14 mistakes the comparison with 0 in a defaulted <=> for a null pointer.
  constexpr auto operator<=>(const Quantity&) const = default;  // NOLINT(modernize-use-nullptr)

  constexpr Quantity& operator+=(Quantity other) {
    value += other.value;
    return *this;
  }
  constexpr Quantity& operator-=(Quantity other) {
    value -= other.value;
    return *this;
  }
};

template <class Tag>
constexpr Quantity<Tag> operator+(Quantity<Tag> a, Quantity<Tag> b) {
  return Quantity<Tag>{a.value + b.value};
}
template <class Tag>
constexpr Quantity<Tag> operator-(Quantity<Tag> a, Quantity<Tag> b) {
  return Quantity<Tag>{a.value - b.value};
}
template <class Tag>
constexpr Quantity<Tag> operator*(Quantity<Tag> a, double factor) {
  return Quantity<Tag>{a.value * factor};
}
template <class Tag>
constexpr Quantity<Tag> operator*(double factor, Quantity<Tag> a) {
  return Quantity<Tag>{factor * a.value};
}
template <class Tag>
constexpr Quantity<Tag> operator/(Quantity<Tag> a, double divisor) {
  return Quantity<Tag>{a.value / divisor};
}
/// Ratio of two quantities of the same unit, a plain number.
template <class Tag>
constexpr double operator/(Quantity<Tag> a, Quantity<Tag> b) {
  return a.value / b.value;
}

using Bytes = Quantity<struct BytesTag>;
using Flops = Quantity<struct FlopsTag>;  // a count of floating-point operations, not a rate
using Seconds = Quantity<struct SecondsTag>;
using BytesPerSecond = Quantity<struct BytesPerSecondTag>;
using FlopsPerSecond = Quantity<struct FlopsPerSecondTag>;
using FlopsPerByte = Quantity<struct FlopsPerByteTag>;  // arithmetic intensity
using Watts = Quantity<struct WattsTag>;
using Joules = Quantity<struct JoulesTag>;
using DollarsPerHour = Quantity<struct DollarsPerHourTag>;

constexpr Seconds operator/(Bytes bytes, BytesPerSecond rate) {
  return Seconds{bytes.value / rate.value};
}
constexpr Seconds operator/(Flops flops, FlopsPerSecond rate) {
  return Seconds{flops.value / rate.value};
}
constexpr BytesPerSecond operator/(Bytes bytes, Seconds time) {
  return BytesPerSecond{bytes.value / time.value};
}
constexpr FlopsPerSecond operator/(Flops flops, Seconds time) {
  return FlopsPerSecond{flops.value / time.value};
}
constexpr Joules operator*(Watts power, Seconds time) { return Joules{power.value * time.value}; }
constexpr Watts operator/(Joules energy, Seconds time) { return Watts{energy.value / time.value}; }
constexpr FlopsPerByte operator/(Flops flops, Bytes bytes) {
  return FlopsPerByte{flops.value / bytes.value};
}
constexpr FlopsPerByte operator/(FlopsPerSecond compute, BytesPerSecond memory) {
  return FlopsPerByte{compute.value / memory.value};
}

inline constexpr double kGiB = 1024.0 * 1024.0 * 1024.0;
constexpr double to_gib(Bytes bytes) { return bytes.value / kGiB; }

/// A count as a factor of quantities; exact up to 2^53.
constexpr double to_double(std::int64_t count) { return static_cast<double>(count); }

}  // namespace roofcast
