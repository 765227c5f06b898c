// SPDX-License-Identifier: Apache-2.0
// What moving elements is measured with: from one memory to another of the same device, against plain copying of as
// many bytes as are read and written.
#pragma once

#include "runner.h"

#include <masu/buffer.h>
#include <masu/stream.h>

#include <cstdint>
#include <span>
#include <string>

namespace masu::bench {

class Moving : public Work {
 public:
  // `extra_bytes`: what is read beside the input, as indices are.
  Moving(Runner& runner, const Device& device, std::span<const std::byte> in, std::uint64_t out_bytes,
         std::uint64_t extra_bytes = 0);
  double ceiling() final;
  void check(const std::string& name) final;

 protected:
  // Whether element `i` of the result is what it must be.
  [[nodiscard]] virtual bool is_right(const std::byte* result, std::uint64_t i) const = 0;
  [[nodiscard]] virtual std::uint64_t result_count() const = 0;

  std::span<const std::byte> in_;  // on the host
  Device device_;
  Buffer<std::byte> source_;
  Buffer<std::byte> target_;

 private:
  Runner& runner_;
  double bytes_a_copied_byte_;
  std::uint64_t plain_bytes_;
  Stream stream_;
};

}  // namespace masu::bench
