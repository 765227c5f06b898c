// SPDX-License-Identifier: Apache-2.0
// The suites of `masu bench`: each lies in its primitive's room, in NAME_bench.cpp.
#pragma once

#include "harness.h"

#include <masu/device.h>

#include <exception>
#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace masu::bench {

struct Request {
  Selection selection;
  std::vector<Device> devices;
  std::vector<std::string> strategies;               // strategies or algorithms; empty: what the plan chooses
  std::vector<std::string> kinds;                    // see Row::kind; empty: kernel and call
  bool ladder = false;                               // histogram: all strategies side by side
  std::function<void(const std::string&)> progress;  // told each row's name before it is measured
  std::function<void(const std::string&)> note;      // told what was left out, and why
};

struct Measurements {
  std::vector<Row> rows;
  std::exception_ptr failure;  // the first WrongResult or Error that cost a row
};

// Nothing is timed where a result is wrong. They throw invalid_argument for names that are not known.
Measurements histogram_suite(const Request& request);
Measurements sort_suite(const Request& request);
Measurements unique_suite(const Request& request);
Measurements search_suite(const Request& request);
Measurements topk_suite(const Request& request);
Measurements quantile_suite(const Request& request);
Measurements scan_suite(const Request& request);
Measurements transpose_suite(const Request& request);
Measurements convert_suite(const Request& request);
Measurements gather_suite(const Request& request);
Measurements reduce_suite(const Request& request);
Measurements sum_suite(const Request& request);
Measurements weighted_suite(const Request& request);

struct Suite {
  std::string name;
  Measurements (*run)(const Request&);
  std::string title;    // of its chart
  std::string ceiling;  // what is as fast as can be: "reading" or "copying"
};
std::span<const Suite> suites();
// Throws invalid_argument, listing the names.
const Suite& suite_named(std::string_view name);

}  // namespace masu::bench
