// What a launch line calls a model.
#pragma once

#include <string>

namespace roofcast {

/// The catalogue's entry by its name on Hugging Face ("llama-3.1-70b" is meta-llama/Llama-3.1-70B),
/// which is what engines load; any other name or path as it is.
std::string checkpoint_name(const std::string& model);

}  // namespace roofcast
