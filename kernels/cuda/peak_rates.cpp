#include "kernels/cuda/peak_rates.hpp"

namespace roofcast::kernels::cuda {
namespace {

/// FLOP per multiprocessor and cycle; 0: unsupported.
struct CycleRates {
  int compute_capability;
  int fp32;
  int fp16;  // and bf16
  int fp8;
  int int8;
};

// Each row has a check against a datasheet: multiprocessors x boost clock x FLOP = datasheet. If
// GeForce cards accumulate in fp32 at half the rate of professional ones, the row has the latter's
// rate, which bounds both.
constexpr CycleRates kTable[] = {
    // NVIDIA A100 whitepaper, table 1: 108 x 1.41 GHz x 2048 = 312 TFLOP/s, int8 624 TOPS.
    {80, 128, 2048, 0, 4096},
    // NVIDIA Ampere GA102 whitepaper, appendix A; RTX A6000: 84 x 1.80 GHz x 1024 = 155 TFLOP/s,
    // fp32 38.7.
    {86, 256, 1024, 0, 2048},
    // NVIDIA Ada whitepaper, appendix A; L40S datasheet: 142 x 2.52 GHz x 1024 = 366 TFLOP/s, fp8
    // 733.
    {89, 256, 1024, 2048, 2048},
    // NVIDIA H100 whitepaper, table 3; SXM: 132 x 1.83 GHz x 4096 = 989 TFLOP/s, fp8 1979, fp32 62
    // (67 at 1.98 GHz).
    {90, 256, 4096, 8192, 8192},
    // NVIDIA Blackwell datasheet, B200: 148 x 1.85 GHz x 8192 = 2.2 PFLOP/s, fp8 4.5, int8 4.5.
    {100, 256, 8192, 16384, 16384},
    // NVIDIA RTX Blackwell whitepaper, RTX PRO 6000: 188 x 2.62 GHz x 1024 = 504 TFLOP/s, fp8 1008,
    // fp32 126.
    {120, 256, 1024, 2048, 2048},
};

}  // namespace

std::map<Element, double> peak_rates(int compute_capability, int multiprocessors, double clock_hz) {
  std::map<Element, double> rates;
  for (const CycleRates& row : kTable) {
    if (row.compute_capability != compute_capability || clock_hz <= 0) continue;
    const double cycles = multiprocessors * clock_hz;
    rates = {{Element::fp32, row.fp32 * cycles},
             {Element::fp16, row.fp16 * cycles},
             {Element::bf16, row.fp16 * cycles},
             {Element::int8, row.int8 * cycles}};
    if (row.fp8 > 0) rates[Element::fp8_e4m3] = row.fp8 * cycles;
  }
  return rates;
}

std::optional<double> peak_bandwidth(double memory_clock_hz, int bus_bits) {
  constexpr double kTransfersOfCycle = 2;
  constexpr double kBitsOfByte = 8;
  if (memory_clock_hz <= 0 || bus_bits <= 0) return std::nullopt;
  return kTransfersOfCycle * memory_clock_hz * bus_bits / kBitsOfByte;
}

}  // namespace roofcast::kernels::cuda
