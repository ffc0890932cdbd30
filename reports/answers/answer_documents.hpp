// Each answer as a document: what the command of its name prints, in every format.
#pragma once

#include <optional>
#include <string>

#include "reports/document.hpp"

namespace roofcast {

struct BatchesAnswer;
struct CalibrationAnswer;
struct CapacityAnswer;
struct CapacityTableAnswer;
struct CompareAnswer;
struct DoctorAnswer;
struct EstimateAnswer;
struct FitAnswer;
struct GpuAnswer;
struct GpuListAnswer;
struct ImportAnswer;
struct MeasureAnswer;
struct MemoryAnswer;
struct ModelAnswer;
struct ModelListAnswer;
struct PlanAnswer;
struct PriceTable;
struct SimulationAnswer;
struct StaircaseAnswer;
struct TablesAnswer;
struct ValidationAnswer;
struct WhatIfAnswer;

/// Every catalogue model with its size and KV bytes per token.
Document models_document(const ModelListAnswer& answer);

/// One model: parameters, weights by part and format, KV cache, FLOPs per token, layers, notes.
Document model_document(const ModelAnswer& answer);

/// All built-in profiles, one per row.
Document gpus_document(const GpuListAnswer& answer);

/// What an hour of each GPU of a price table costs by kind of price; of an on-demand price that the
/// table lacks, the profile's. Not for machines: the table is a file that they can read. Throws
/// Error for a profile that cannot be read.
Document prices_document(const PriceTable& prices);

/// One profile: memory, peaks with ridge points, links, measurements, and the source of every
/// number.
Document gpu_document(const GpuAnswer& answer);

/// The verdict or the solution in a sentence, every term, and the largest batch per context or what
/// would make it fit.
Document memory_document(const MemoryAnswer& answer);

/// Prefill and decode time, rates, MFU, MBU, ridge and crossing, and the effect of other number
/// formats; with `list_operators` also a table of the operators of both steps in text output.
Document estimate_document(const EstimateAnswer& answer, bool list_operators);

/// The batches of `estimate` beside each other.
Document batches_document(const BatchesAnswer& answer);

/// Counts with and without a cache; with a deployment also token times, and how batching and
/// speculative decoding change the cost of a token.
Document staircase_document(const StaircaseAnswer& answer);

/// The findings: what the machine has and lacks, a row a subject.
Document doctor_document(const DoctorAnswer& answer);

/// The verdict, latencies, load and, where they were looked for, the limits.
Document simulation_document(const SimulationAnswer& answer);

/// The most load, what limits it, and every load that was tried.
Document capacity_document(const CapacityAnswer& answer);

/// Capacity and cost of tokens on several GPUs and degrees beside each other.
Document capacity_table_document(const CapacityTableAnswer& answer);

/// The ranked deployments, what they cost and why others were rejected, or what came closest.
Document plan_document(const PlanAnswer& answer);

/// Each variant beside the baseline, and which differences are more than chance.
Document what_if_document(const WhatIfAnswer& answer);

/// Each metric of each run beside the first run's.
Document compare_document(const CompareAnswer& answer);

/// Precondition: the calibration is finished.
Document calibration_document(const CalibrationAnswer& answer);

/// Each figure that was timed, beside its estimate.
Document measure_document(const MeasureAnswer& answer);

/// The outcome of every row of imported kernel tables.
Document tables_document(const TablesAnswer& answer);

/// The runs that were imported, and what was left out of them.
Document import_document(const ImportAnswer& answer);

/// The fitted terms and the remaining errors.
Document fit_document(const FitAnswer& answer);

/// A line for stderr if the device was lost during calibration; else nullopt.
std::optional<std::string> failure_of(const CalibrationAnswer& answer);

/// The parts of a validation that people see: all false lists every case.
struct ValidationParts {
  bool ledger = false;     // errors summed up
  bool decisions = false;  // what choices by predictions are worth
  bool versions = false;   // how far versions of an engine differ
};

/// For machines all of it; for people the parts, then what was not answered and what is past its
/// limit.
Document validation_document(const ValidationAnswer& answer, const ValidationParts& parts);

}  // namespace roofcast
