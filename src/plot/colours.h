// SPDX-License-Identifier: Apache-2.0
// Which colours are used. Readers who see fewer of them tell the palette's apart too.
#pragma once

#include <masu/plot.h>

#include <cstdint>
#include <string_view>

namespace masu::plot {

inline constexpr Colour ink{0x26, 0x26, 0x26};
inline constexpr Colour faded_ink{0x66, 0x66, 0x66};
inline constexpr Colour axis_colour{0x4D, 0x4D, 0x4D};
inline constexpr Colour grid_colour{0xE4, 0xE4, 0xE4};

struct Look {
  Colour colour;
  double dash = 0;  // of its outline
  friend bool operator==(const Look&, const Look&) = default;
};
// Of the series `index` of that name: a channel's own colour, or the next of the palette, dashed when it is used up.
Look look(std::string_view name, std::uint64_t index);

// 0 … 1 from dark to bright, each step as much brighter as the one before. 0xRRGGBB.
std::uint32_t heat(double part);

}  // namespace masu::plot
