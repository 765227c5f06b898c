// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "histogram_result.h"

#include <string>

namespace masu::cli {

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

}  // namespace masu::cli
