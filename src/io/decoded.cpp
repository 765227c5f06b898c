// SPDX-License-Identifier: Apache-2.0
#include "io/decoded.h"

#include <algorithm>
#include <array>

namespace masu::io {

std::size_t DecodedStream::read(std::byte* target, std::size_t bytes) {
  std::size_t done = 0;
  const auto look_ahead = [&] {
    std::byte next{};
    ahead_ = decode(&next, 1) == 0 ? std::nullopt : std::optional(next);
    looked_ahead_ = true;
  };
  if (bytes == 0) return 0;
  if (!looked_ahead_) look_ahead();
  if (!ahead_) return 0;
  target[done++] = *ahead_;
  while (done < bytes) {
    const std::size_t got = decode(target + done, bytes - done);
    if (got == 0) break;
    done += got;
  }
  look_ahead();
  position_ += done;
  return done;
}

void DecodedStream::seek(std::uint64_t position) {
  if (position < position_) {
    begin_again();
    looked_ahead_ = false;
    position_ = 0;
  }
  std::array<std::byte, std::size_t{1} << 14> skipped;
  while (position_ < position) {
    if (read(skipped.data(), static_cast<std::size_t>(std::min<std::uint64_t>(skipped.size(), position - position_))) ==
        0)
      return;
  }
}

std::uint64_t DecodedStream::measure() {
  std::array<std::byte, std::size_t{1} << 14> passing;
  while (read(passing.data(), passing.size()) != 0) {
  }
  return position_;
}

}  // namespace masu::io
