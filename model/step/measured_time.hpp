// An operator's measured times, tabulated in advance for callers that ask often.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "model/curves/measured_curve.hpp"
#include "model/curves/monotone_table.hpp"
#include "model/hardware/gpu.hpp"
#include "model/step/attention_tail.hpp"
#include "model/step/step_time.hpp"

namespace roofcast {

/// Answers from the curves of one shape. Where the points say that more tokens (or sequences, or
/// context) take less time, the longer time of the smaller size is used; otherwise within 1 % of
/// answer(): the table's nodes are the points and four to eight sizes per octave between them. A
/// batch is described only by its sequences and their mean context. Replacing one long sequence by
/// several short ones with the same total may therefore make it faster, as on a device.
class MeasuredTimes {
 public:
  /// Precondition: the blend has parts; a prefill's span is full or sliding.
  MeasuredTimes(CurveBlend blend, int multiprocessors, const AttentionSpan& span = {});

  /// The same of a card whose curves were timed on its sister. `card` must outlive the constructor
  /// alone.
  MeasuredTimes(CurveBlend blend, const Gpu& card, const AttentionSpan& span);

  /// Time of one call. x and y as in shape_work(); y is capped by a sliding span.
  Seconds at(double x, double y) const;

  /// The time of at() with the provenance and uncertainty of the curves' answer.
  CurveAnswer explain(double x, double y) const;

  /// Time of a decode batch beyond at() because its sequences differ in length.
  Seconds tail(const UnevenBatch& batch) const;
  /// Whether tail() can be above 0: the time per token of a single sequence is known.
  bool has_tail() const { return tail_token_.value > 0; }

  /// In steps with prefill: the time of a tile of one head's queries that a sequence does not fill.
  Seconds empty_tile() const { return empty_tile_; }

  /// The engine and version, or library, in whose kernel tables the times are: "vLLM 0.24.0";
  /// empty: the profile's own calibration.
  std::string source() const;

  bool writes_cache() const { return writes_cache_; }
  /// The part of at() that a call saves in a captured graph.
  Seconds graph_saving() const { return graph_saving_; }
  /// The largest first size that was timed.
  double last_timed() const;

  /// Whether attention's products ran in fp8.
  bool fp8_arithmetic() const { return blend_.shape.fp8_arithmetic; }
  /// Whether the curve is of experts picked by a power law.
  bool of_power_law() const { return blend_.shape.power_law > 0; }

  /// Whether the very shape was timed, rather than a neighbour or another of its kind.
  bool of_own_shape() const {
    return blend_.parts.size() == 1 && blend_.octaves == 0 && !blend_.borrowed;
  }

  /// Prefill of several prompts at once, as timed, over fixed() and each prompt's at() beyond it:
  /// short prompts fill a device better together. 1 where no batches were timed. `prompts` need not
  /// be whole; x and y are of each prompt. Preconditions: prompts >= 1, x > 0.
  double batch_ratio(double prompts, double x, double y) const;
  bool has_batches() const { return !blend_.batches.empty(); }

  /// The part of at() that is paid once however many sequences a call computes.
  Seconds fixed() const { return fixed_; }

 private:
  CurveAnswer curve_answer(double x, double y) const;
  /// The blend's answer, carried over if it is a sister's.
  CurveAnswer blend_answer(double x, double y) const;
  /// A time of the curves on this card: the fixed part by transferred_fixed(), the rest by
  /// transferred_ratio(). The time itself where nothing is carried over.
  Seconds transferred(Seconds time, double x, double y) const;
  void tabulate();
  CurveAnswer sliding_answer(double x, double y) const;
  std::vector<double> x_nodes() const;
  std::vector<double> y_nodes() const;

  auto node_time() const {
    return [this](double x, double y) { return curve_answer(x, y).time; };
  }

  /// The two cards that a carried time is between.
  struct Carry {
    SisterCard from{};
    Gpu to{};  // its rates alone
  };

  CurveBlend blend_;
  int multiprocessors_ = 1;  // of the card that was timed
  std::optional<Carry> carry_{};
  AttentionSpan span_{};
  Seconds timed_floor_{};  // of the curves, before it is carried over
  Seconds fixed_{};
  Seconds empty_tile_{};
  Seconds tail_token_{};
  Seconds graph_saving_{};
  bool writes_cache_ = false;
  std::optional<MonotoneTable> table_;
};

/// The times measured for a shape on this GPU, as `engine` ("vllm-0.24") runs it: of the profile's
/// own curves, else of its built-in kernel tables; nullopt if neither it nor a neighbour was timed.
std::optional<MeasuredTimes> measured_times(const Gpu& gpu, const OperatorShape& shape,
                                            const AttentionSpan& span = {},
                                            std::string_view engine = {});

/// Whether the time that answers for a product includes the quantisation of its input: kernel
/// tables time an engine's whole linear layer, which quantises what it is given (aiconfigurator
/// 095f58a, collector/vllm, sglang and trtllm, collect_gemm.py), libraries and `calibrate` the
/// product alone. False where nothing was measured, and for TensorRT-LLM's fp8 products, which
/// `profile import` takes it off (calibrate/tables/imported_rows.hpp).
bool quantises_input(const Gpu& gpu, const OperatorShape& product, std::string_view engine);

/// Whether the time that answers for experts includes that of choosing them for each token: kernel
/// tables time an engine's layer from the router's scores on (aiconfigurator 095f58a,
/// collector/vllm, sglang and trtllm, collect_moe.py; SGLang's rows before 0.5.14 over expert ranks
/// are without, 2 us), libraries and `calibrate` the experts alone. `alone` answers where `experts`
/// has no curve, if it has experts. False where nothing was measured.
bool selects_experts(const Gpu& gpu, const OperatorShape& experts, const OperatorShape& alone,
                     std::string_view engine);

/// Whether that time is of AITER's kernels alone, which get their tokens sorted by expert and
/// quantised (ROCm/aiter e4048607, gemm_moe_tune.py); or of the efficiencies of AMD's profiles,
/// which come from the same times.
bool needs_sorted_tokens(const Gpu& gpu, const OperatorShape& experts, const OperatorShape& alone,
                         std::string_view engine);

}  // namespace roofcast
