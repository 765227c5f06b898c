// SPDX-License-Identifier: Apache-2.0
#include "plot/page.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <numbers>
#include <utility>

namespace masu::plot {
namespace {

// The palette of Okabe and Ito, without its yellow, which is too pale for lines on white.
constexpr std::array<Colour, 8> palette = {{{0x00, 0x72, 0xB2},
                                            {0xD5, 0x5E, 0x00},
                                            {0x00, 0x9E, 0x73},
                                            {0xCC, 0x79, 0xA7},
                                            {0xE6, 0x9F, 0x00},
                                            {0x56, 0xB4, 0xE9},
                                            {0x4D, 0x4D, 0x4D},
                                            {0x88, 0x22, 0x55}}};

constexpr std::array<std::pair<std::string_view, Colour>, 10> channels = {{{"red", {0xCC, 0x33, 0x11}},
                                                                           {"green", {0x00, 0x96, 0x5E}},
                                                                           {"blue", {0x00, 0x6A, 0xC4}},
                                                                           {"alpha", {0x9A, 0x55, 0xB4}},
                                                                           {"gray", {0x55, 0x55, 0x55}},
                                                                           {"grey", {0x55, 0x55, 0x55}},
                                                                           {"cyan", {0x1F, 0xA5, 0xD6}},
                                                                           {"magenta", {0xD6, 0x2E, 0x7F}},
                                                                           {"yellow", {0xC9, 0x9A, 0x00}},
                                                                           {"black", {0x26, 0x26, 0x26}}}};

// Lightness, chroma and hue (degrees) in Oklab, at equal steps.
struct Stop {
  double lightness;
  double chroma;
  double hue;
};
constexpr std::array<Stop, 6> stops = {{{0.24, 0.11, 310},
                                        {0.38, 0.135, 280},
                                        {0.52, 0.105, 235},
                                        {0.66, 0.115, 175},
                                        {0.80, 0.165, 132},
                                        {0.93, 0.180, 105}}};

std::uint32_t srgb(double linear) {
  const double x = std::clamp(linear, 0.0, 1.0);
  const double coded = x <= 0.0031308 ? 12.92 * x : 1.055 * std::pow(x, 1 / 2.4) - 0.055;
  return static_cast<std::uint32_t>(std::lround(coded * 255));
}

}  // namespace

Look look(std::string_view name, std::uint64_t index) {
  for (const auto& [channel, colour] : channels)
    if (channel == name) return {colour, 0};
  constexpr std::array<double, 3> dashes = {0, 5, 2};
  return {palette[index % palette.size()], dashes[index / palette.size() % dashes.size()]};
}

std::uint32_t heat(double part) {
  const double place = std::clamp(part, 0.0, 1.0) * (stops.size() - 1);
  const auto index = std::min(static_cast<std::size_t>(place), stops.size() - 2);
  const double rest = place - static_cast<double>(index);
  const auto between = [&](double Stop::*what) {
    return stops[index].*what * (1 - rest) + stops[index + 1].*what * rest;
  };
  const double hue = between(&Stop::hue) * std::numbers::pi / 180;
  const double chroma = between(&Stop::chroma);
  const double lightness = between(&Stop::lightness);
  const double a = chroma * std::cos(hue);
  const double b = chroma * std::sin(hue);
  // Oklab to linear sRGB (B. Ottosson, 2020).
  const double l = std::pow(lightness + 0.3963377774 * a + 0.2158037573 * b, 3);
  const double m = std::pow(lightness - 0.1055613458 * a - 0.0638541728 * b, 3);
  const double s = std::pow(lightness - 0.0894841775 * a - 1.2914855480 * b, 3);
  return srgb(4.0767416621 * l - 3.3077115913 * m + 0.2309699292 * s) << 16U |
         srgb(-1.2684380046 * l + 2.6097574011 * m - 0.3413193965 * s) << 8U |
         srgb(-0.0041960863 * l - 0.7034186147 * m + 1.7076147010 * s);
}

}  // namespace masu::plot
