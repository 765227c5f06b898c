// SPDX-License-Identifier: Apache-2.0
// The data that masu and its peers are measured on: masu's own generators, so that everyone works on the same bytes.
#pragma once

#include <masu/buffer.h>
#include <masu/dtype.h>

#include <cstdint>
#include <span>
#include <string>

namespace masu::bench {

// Elements in host memory.
class Input {
 public:
  // Uninitialised.
  Input(Dtype dtype, std::uint64_t count);
  // Those of a generator (docs/generators.md) of this dtype and count, written once.
  Input(Dtype dtype, std::uint64_t count, const std::string& generator);
  [[nodiscard]] ArrayView view() const noexcept;
  [[nodiscard]] std::span<const std::byte> bytes() const noexcept;
  [[nodiscard]] std::span<std::byte> bytes() noexcept;

 private:
  Dtype dtype_;
  Buffer<std::byte> memory_;
};

}  // namespace masu::bench
