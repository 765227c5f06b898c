// SPDX-License-Identifier: Apache-2.0
// The suites of `masu bench`: each lies in its primitive's room, in NAME_bench.cpp.
#pragma once

#include "harness.h"

#include <masu/device.h>

#include <functional>
#include <string>
#include <vector>

namespace masu::bench {

struct Request {
  Selection selection;
  std::vector<Device> devices;
  std::vector<std::string> strategies;               // empty: what the plan chooses
  std::function<void(const std::string&)> progress;  // told each row's name before it is measured
  std::function<void(const std::string&)> note;      // told what was left out, and why
};

// Throws WrongResult, before anything is timed, where a count is wrong.
std::vector<Row> histogram_suite(const Request& request);

}  // namespace masu::bench
