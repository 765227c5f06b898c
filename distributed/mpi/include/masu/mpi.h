// SPDX-License-Identifier: Apache-2.0
/// @file
/// masu's functions on data that lies distributed over the ranks of an MPI communicator, with the bits of one process
/// that has all the data. Needs MPI; masu's libraries do not. CMake: `find_package(masu COMPONENTS mpi)`, `masu::mpi`.
///
/// **Data.** Each rank gives its part: a contiguous host range, a Buffer, or a Part, in any sizes, none included. All
/// data is that of rank 0, then that of rank 1, and so on; indices count from the first element of rank 0. Each rank
/// works on its own device; these may differ.
/// **Calls are collective.** Every rank of the communicator makes the same calls in the same order, with the same dtype
/// and options. The first message of a call compares them: ranks that differ are an error on every rank, which names
/// both calls. One call at a time on a communicator; masu's messages go on a duplicate of it, which the first call
/// makes.
/// **Results** are on every rank, or where a `root` is named on that one alone. Sorted data and scans stay distributed.
/// **Errors.** What goes wrong on one rank is the same Error on every rank, with the number of the rank in front of its
/// text. MPI must be initialised with MPI_THREAD_FUNNELED or more. An error of MPI itself is an Error with the code
/// `io` on the ranks that see it; what the others do then is for MPI_Abort.
/// **Method, and what is sent**: distributed/mpi/README.md, docs/scaling.md.
///
/// Example:
/// @code
/// MPI_Init_thread(&argc, &argv, MPI_THREAD_FUNNELED, &provided);
/// std::vector<float> mine = …;  // this rank's part
/// const double total = masu::mpi::sum(MPI_COMM_WORLD, mine).value();
/// @endcode
#pragma once

#include <masu/mpi/histogram.h>
#include <masu/mpi/part.h>
#include <masu/mpi/reduce.h>
#include <masu/mpi/scan.h>
#include <masu/mpi/selection.h>
#include <masu/mpi/sort.h>
#include <masu/mpi/sum.h>
