// Whether mpirun, or what stands for it, started this process as one of several.
#pragma once

namespace roofcast {

/// By what OpenMPI's mpirun, or a launcher that speaks PMIx (`srun --mpi=pmix`), leaves in the
/// environment.
bool started_together();

}  // namespace roofcast
