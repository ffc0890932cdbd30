// The name under which a launch line loads a model.
#pragma once

#include <string>

namespace roofcast {

/// The Hugging Face name of a catalogue entry ("llama-3.1-70b" is meta-llama/Llama-3.1-70B), which
/// engines load; any other name or path unchanged.
std::string checkpoint_name(const std::string& model);

}  // namespace roofcast
