// The name under which a launch line loads a model.
#pragma once

#include <string>

namespace roofcast {

/// The Hugging Face name of a catalogue entry or of another name of it without an owner
/// ("llama-3.1-70b" is meta-llama/Llama-3.1-70B, "deepseek-r1" deepseek-ai/DeepSeek-R1), which
/// engines load: the one that is spelt alike, else the first. Any other name or path unchanged.
std::string checkpoint_name(const std::string& model);

}  // namespace roofcast
