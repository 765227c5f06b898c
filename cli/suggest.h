// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

namespace CLI {
class App;
class ParseError;
}  // namespace CLI

namespace masu::cli {

// What to say about arguments that CLI11 refused, with the nearest known name where one is near.
std::string usage_message(const CLI::ParseError& error, const CLI::App& app);

}  // namespace masu::cli
