// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>

namespace masu::cli {

// Takes the text of a result, piece by piece.
using Sink = std::function<void(std::string_view)>;

// Gathers small pieces of text before they go to a sink: results may have 2^31 entries and are never held as a text.
class TextSink {
 public:
  explicit TextSink(const Sink& sink) : sink_(sink) {}
  TextSink(const TextSink&) = delete;
  TextSink& operator=(const TextSink&) = delete;

  void add(std::string_view text) {
    text_ += text;
    if (text_.size() > 1 << 16) flush();
  }
  void flush() {
    sink_(text_);
    text_.clear();
  }

 private:
  const Sink& sink_;
  std::string text_;
};

// A list of JSON of `count` entries; `entry(i)` adds each.
template <class Entry>
void write_list(std::uint64_t count, const Entry& entry, TextSink& to) {
  to.add("[");
  for (std::uint64_t i = 0; i < count; ++i) {
    if (i > 0) to.add(",");
    entry(i);
  }
  to.add("]");
}

}  // namespace masu::cli
