// mpi.h over a library that is opened at the first call: MPI brings eight others, and only a plan
// on several machines needs it. Open MPI's objects, such as MPI_COMM_WORLD's, are found likewise;
// another implementation is linked as usual. What is missing below is an error of the linker.
#pragma once

#include <mpi.h>

#ifdef OPEN_MPI

#include "base/io/shared_library.hpp"

namespace roofcast {

/// Throws Error if it cannot be opened.
inline const SharedLibrary& mpi_library() {
  // Of Open MPI 4 and 5, whose ABI is the same; its components look for its symbols.
  static const SharedLibrary library("libmpi.so.40", SharedLibrary::Scope::global);
  return library;
}

}  // namespace roofcast

#define ROOFCAST_MPI_FUNCTION(name)                                                         \
  (*[] {                                                                                    \
    static auto* const found = ::roofcast::mpi_library().function<decltype(::name)>(#name); \
    return found;                                                                           \
  }())
#define ROOFCAST_MPI_OBJECT(name)                                                         \
  (*[] {                                                                                  \
    static auto* const found = ::roofcast::mpi_library().object<decltype(::name)>(#name); \
    return found;                                                                         \
  }())

#define MPI_Comm_free ROOFCAST_MPI_FUNCTION(MPI_Comm_free)
#define MPI_Comm_rank ROOFCAST_MPI_FUNCTION(MPI_Comm_rank)
#define MPI_Comm_set_errhandler ROOFCAST_MPI_FUNCTION(MPI_Comm_set_errhandler)
#define MPI_Comm_size ROOFCAST_MPI_FUNCTION(MPI_Comm_size)
#define MPI_Comm_split_type ROOFCAST_MPI_FUNCTION(MPI_Comm_split_type)
#define MPI_Error_string ROOFCAST_MPI_FUNCTION(MPI_Error_string)
#define MPI_Finalize ROOFCAST_MPI_FUNCTION(MPI_Finalize)
#define MPI_Get_count ROOFCAST_MPI_FUNCTION(MPI_Get_count)
#define MPI_Improbe ROOFCAST_MPI_FUNCTION(MPI_Improbe)
#define MPI_Init_thread ROOFCAST_MPI_FUNCTION(MPI_Init_thread)
#define MPI_Isend ROOFCAST_MPI_FUNCTION(MPI_Isend)
#define MPI_Mrecv ROOFCAST_MPI_FUNCTION(MPI_Mrecv)
#define MPI_Test ROOFCAST_MPI_FUNCTION(MPI_Test)
#define ompi_message_null ROOFCAST_MPI_OBJECT(ompi_message_null)
#define ompi_mpi_char ROOFCAST_MPI_OBJECT(ompi_mpi_char)
#define ompi_mpi_comm_null ROOFCAST_MPI_OBJECT(ompi_mpi_comm_null)
#define ompi_mpi_comm_world ROOFCAST_MPI_OBJECT(ompi_mpi_comm_world)
#define ompi_mpi_errors_return ROOFCAST_MPI_OBJECT(ompi_mpi_errors_return)
#define ompi_mpi_info_null ROOFCAST_MPI_OBJECT(ompi_mpi_info_null)
#define ompi_request_null ROOFCAST_MPI_OBJECT(ompi_request_null)

#endif
