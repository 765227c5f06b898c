// SPDX-License-Identifier: Apache-2.0
// SHA-256 (FIPS 180-4).
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace masu::runtime {

class Sha256 {
 public:
  void add(std::string_view data) noexcept;
  // Ends the message. 64 lower-case hexadecimal digits. Call it once.
  std::string hex();

 private:
  void block(const unsigned char* data) noexcept;
  std::array<std::uint32_t, 8> state_{0x6a09e667, 0xbb67ae85, 0x3c6ef372, 0xa54ff53a,
                                      0x510e527f, 0x9b05688c, 0x1f83d9ab, 0x5be0cd19};
  std::array<unsigned char, 64> rest_{};
  std::size_t rest_size_ = 0;
  std::uint64_t bytes_ = 0;
};

std::string sha256(std::string_view data);

}  // namespace masu::runtime
