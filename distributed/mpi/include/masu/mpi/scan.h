// SPDX-License-Identifier: Apache-2.0
/// @file
/// Scans of distributed data. Part of mpi.h, which says what holds.
#pragma once

#include <masu/mpi/call.h>
#include <masu/mpi/part.h>
#include <masu/reduce.h>
#include <masu/scan.h>
#include <masu/sum.h>

#include <cstddef>
#include <vector>

namespace masu::mpi {

/// As scan.h says on the data of all ranks: each rank's elements go on where those of the ranks before end. `output`
/// has the dtype and the size of this rank's part, and may be its memory. options.rows must be 1, options.result the
/// dtype or empty, and there are no flags; options.workspace and times are not used. After an error outputs are
/// unspecified.
inline void scan(MPI_Comm comm, const Part& input, MutableArrayView output, const ScanOptions& options = {}) {
  detail::Call call(comm, [&] {
    return detail::Text("scan")
        .with(to_string(input.dtype()))
        .with(to_string(options.op))
        .with(options.exclusive ? "exclusive" : "inclusive");
  });
  ScanOptions own = options;
  own.workspace = nullptr;
  own.times = nullptr;
  const bool sums = options.op == ScanOp::sum;
  std::optional<ScanAccumulator> scanner;
  detail::Bytes memory;
  detail::Bytes mine;
  call.attempt([&] {
    scanner.emplace(input.device(), input.dtype(), own);
    if (output.dtype != input.dtype() || output.count != input.count()) {
      throw Error(ErrorCode::invalid_argument, "mpi: scan: the output must be " + std::to_string(input.count()) + " " +
                                                   std::string(to_string(input.dtype())) + ", got " +
                                                   std::to_string(output.count) + " " +
                                                   std::string(to_string(output.dtype)));
    }
    if (sums) {
      SumAccumulator total(input.device(), input.dtype());
      input.add_to(total);
      mine = total.bytes();
    } else {
      ReduceAccumulator extreme(input.device(), input.dtype(),
                                options.op == ScanOp::min ? ReduceOp::min : ReduceOp::max);
      input.add_to(extreme);
      mine = extreme.bytes();
    }
  });
  call.agree();
  const std::vector<detail::Bytes> parts = call.from_each(mine);
  call.attempt([&] {
    const Device cpu = Device::open("cpu");
    const auto before = [&](auto total) {
      for (int r = 0; r < call.group().rank(); ++r) {
        total.merge(decltype(total)::from_bytes(cpu, parts[static_cast<std::size_t>(r)]));
      }
      return total;
    };
    if (sums) {
      scanner->start_after(before(SumAccumulator(cpu, input.dtype())));
    } else {
      // An extreme of what is before says all of it: scanned in front, as one element.
      const ReduceOp op = options.op == ScanOp::min ? ReduceOp::min : ReduceOp::max;
      const ReduceAccumulator extreme = before(ReduceAccumulator(cpu, input.dtype(), op));
      if (extreme.count() != 0) {
        const ReduceResult found = extreme.result();
        std::array<std::byte, sizeof(std::uint64_t)> result{};
        scanner->scan(op == ReduceOp::min ? found.min_values() : found.max_values(), {input.dtype(), result.data(), 1});
      }
    }
    scanner->scan(input.host(memory), output);
  });
  call.agree();
}
template <HostRange R, HostRange S>
void scan(MPI_Comm comm, const R& input, S&& output, const ScanOptions& options = {}) {
  mpi::scan(comm, Part(input), MutableArrayView(output), options);
}

}  // namespace masu::mpi
