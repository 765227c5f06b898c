// SPDX-License-Identifier: Apache-2.0
// The elements at places of the sorted order of rows in device memory: what NumPy's median and quantile need.
#pragma once

#include <masu/buffer.h>
#include <masu/dtype.h>

#include <cstdint>
#include <span>

namespace masu_python {

// The elements at these places of each row's sorted order, row by row, into host memory: of the stable order, which
// tells -0 from +0. A NaN is the quiet NaN.
void elements_at(const masu::BufferBase& data, masu::Dtype dtype, std::uint64_t rows,
                 std::span<const std::uint64_t> places, void* elements);

}  // namespace masu_python
