// SPDX-License-Identifier: Apache-2.0
// zlib, opened when it is first needed.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>

#include "io/reader.h"

namespace masu::io {

enum class Deflated { gzip, raw };

class Inflater {
 public:
  // `name` is that of the input, `format` what it is, for messages. Throws unsupported where there is no zlib.
  Inflater(std::string name, std::string_view format, Deflated form);
  ~Inflater();

  // Decodes what `reader` has next, at least one byte unless ended(). Throws io for damaged or truncated data.
  std::size_t decode(Reader& reader, std::byte* target, std::size_t bytes);
  // The last byte has been given, and what the format says of the data's sum is true.
  [[nodiscard]] bool ended() const noexcept { return ended_; }
  // For the next data.
  void begin_again();

  [[nodiscard]] std::uint32_t crc32(std::uint32_t of_those_before, std::span<const std::byte> bytes) const;

 private:
  struct State;
  std::unique_ptr<State> state_;
  std::string name_;
  std::string_view format_;
  bool ended_ = false;
};

}  // namespace masu::io
