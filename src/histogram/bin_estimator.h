// SPDX-License-Identifier: Apache-2.0
// Bins that depend on the data, made definite.
#pragma once

#include <masu/bins.h>

namespace masu {

// `give(estimator)` adds all the data to it, once a pass.
template <class Give>
Bins definite_bins(Dtype dtype, const Bins& bins, const Give& give) {
  BinEstimator estimator(dtype, bins);
  do give(estimator);
  while (estimator.next_pass());
  return estimator.bins();
}

}  // namespace masu
