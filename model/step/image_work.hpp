// The work of a step's images: the vision encoder's pass over them, before the language model's.
#pragma once

#include <cstdint>
#include <vector>

#include "model/deployment.hpp"
#include "model/step/roofline.hpp"

namespace roofcast {

/// The work of one rank on `images` of which each becomes `tokens` of the prompt: 2 FLOPs for
/// each parameter of the encoder and patch, and of the projector and token; attention of each patch
/// to those of its image, tile or window, 4 FLOPs for each element of its state; passes over the
/// states in memory. Tensor parallelism divides the matrices and heads (vLLM 0.22, config/
/// multimodal.py, mm_encoder_tp_mode "weights"; SGLang likewise). Empty if the encoder's shape is
/// not known. Neglects the embedding of patches.
std::vector<Work> image_work(const Deployment& deployment, std::int64_t images,
                             std::int64_t tokens);

/// How long that takes, no less than PyTorch takes to launch it operator by operator: encoders are
/// neither compiled nor captured by default (vLLM 0.22, config/compilation.py, compile_mm_encoder,
/// cudagraph_mm_encoder).
Seconds image_time(const Deployment& deployment, std::int64_t images, std::int64_t tokens);

}  // namespace roofcast
