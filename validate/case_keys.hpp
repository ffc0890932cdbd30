// The keys by which a ledger groups measured runs: labels of the manifest and every setting of the
// scenario.
#pragma once

#include <map>
#include <string>

#include "validate/validate_manifest.hpp"

namespace roofcast {

/// Keys of a case and their values as text, of three kinds; where two have the same name, the
/// earlier counts:
///  labels of the manifest;
///  short names: version (engine as asked: "sglang-0.5.9"), engine_name (without the version),
///    dtype, tp, pp, dp, ep, gpus, isl, osl, load or workload ("1024/1024"), output_tokens (mean),
///    conc, drafts;
///  every value of the scenario file, by its path ("engine_options.max_num_seqs").
/// Empty for a case with a problem.
std::map<std::string, std::string> keys_of(const ValidationCase& question);

}  // namespace roofcast
