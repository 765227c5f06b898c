// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>

namespace masu::plot {

// Cairo numbers the surfaces of an SVG as it has made them in this process. Numbers them from 1 instead, so that the
// same drawing is the same text, and gives the document a title, which readers of screens speak.
std::string stable_svg(std::string_view svg, std::string_view title);

}  // namespace masu::plot
