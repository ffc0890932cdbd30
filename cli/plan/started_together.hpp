// Whether mpirun or an equivalent started this process as one of several.
#pragma once

namespace roofcast {

/// From the environment set by OpenMPI's mpirun, or by a launcher with PMIx (`srun --mpi=pmix`).
bool started_together();

}  // namespace roofcast
