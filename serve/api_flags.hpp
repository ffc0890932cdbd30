// The flags that the web page may set: converts {"model": "llama-3.1-8b", "tp": 2} to command-line
// arguments. Rejects all others: those that read or write a file, name a store or take another
// program's command line.
#pragma once

#include <string>
#include <vector>

#include "reports/document.hpp"
#include "serve/serve_options.hpp"

namespace roofcast {

/// Commands that may be asked, in the order of the page.
const std::vector<std::string>& api_commands();

/// "--model=llama-3.1-8b", "--tensor-parallel-size=2": each flag in one word, so that no value can
/// be taken for another flag. Their values are the command's to check, but for what could reach
/// beyond it: names of models and GPUs are those built in, lengths no files, requests no more than
/// the limit. Throws UsageError naming the flag. Precondition: `command` is of api_commands().
std::vector<std::string> api_arguments(const std::string& command, const Json& flags,
                                       const ApiLimits& limits);

}  // namespace roofcast
