// SPDX-License-Identifier: Apache-2.0
// Bins made definite by data that is all there.
#pragma once

#include <masu/bins.h>
#include <masu/buffer.h>
#include <masu/device.h>

namespace masu {

// `bins` itself where they do not depend on the data. A range is found where the data is or on the device, an
// estimator's number of bins on the CPU.
Bins definite_bins(const Device& device, const ArrayView& data, const Bins& bins);
Bins definite_bins(const BufferBase& data, Dtype dtype, const Bins& bins);

}  // namespace masu
