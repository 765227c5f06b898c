// SPDX-License-Identifier: Apache-2.0
#include "cli/arrays/shared_output.h"

#include "ranks.h"

#include <algorithm>
#include <string_view>

namespace masu::cli {
namespace {

constexpr std::uint64_t sent_bytes = std::uint64_t{4} << 20U;

Ranks::Bytes bytes_of(const std::string& text) {
  const auto* first = reinterpret_cast<const std::byte*>(text.data());
  return {first, first + text.size()};
}

}  // namespace

SharedOutput::SharedOutput(const std::string& path, const io::SourceInfo& from) : form_(array_form(path, from)) {
  if (ranks().first()) file_.emplace(is_standard_output(path) ? "-" : path);
  open_part();
}

// Without a name of the file where all ranks find it so: then nothing is left of it however they end.
void SharedOutput::open_part() {
  for (const bool named : {false, true}) {
    const Ranks::Bytes bytes = ranks().of_first("output", file_ ? bytes_of(file_->place(named)) : Ranks::Bytes());
    in_place_ = bytes.empty();
    if (in_place_ || ranks().first()) {
      if (ranks().sum("opened", 1) == static_cast<std::uint64_t>(ranks().size())) return;
      continue;
    }
    const std::string place(reinterpret_cast<const char*>(bytes.data()), bytes.size());
    try {
      part_.emplace(place);
    } catch (const Error&) {
      if (named) throw;
    }
    if (ranks().sum("opened", part_ ? 1 : 0) == static_cast<std::uint64_t>(ranks().size())) return;
    part_.reset();
  }
}

void SharedOutput::write(const ArrayView& mine, std::span<const std::uint64_t> shape) {
  // Text is made twice where its length has to be known first.
  const auto pieces = [&](const Lines& take) {
    if (form_ == ArrayForm::text) write_lines(mine, take);
    else take({static_cast<const char*>(mine.data), mine.count * size_of(mine.dtype)});
  };
  const std::string head = form_ == ArrayForm::npy ? io::npy_header(mine.dtype, shape) : "";
  if (in_place_) {
    if (file_) file_->write(head);
    if (file_) pieces([&](std::string_view piece) { file_->write(piece); });
    const auto give = [&](const Ranks::Send& send) {
      pieces([&](std::string_view piece) {
        for (std::size_t done = 0; done < piece.size(); done += sent_bytes) {
          const std::string_view some = piece.substr(done, sent_bytes);
          send(std::as_bytes(std::span(some.data(), some.size())));
        }
      });
    };
    ranks().to_first("output", give,
                     [&](int /*rank*/, std::span<const std::byte> piece) { file_->write(piece.data(), piece.size()); });
    return;
  }
  std::uint64_t length = 0;
  pieces([&](std::string_view piece) { length += piece.size(); });
  std::uint64_t position = head.size() + ranks().before("output", length);
  pieces([&](std::string_view piece) {
    if (file_) file_->write_at(position, piece.data(), piece.size());
    else part_->write_at(position, piece.data(), piece.size());
    position += piece.size();
  });
  if (file_) file_->write_at(0, head.data(), head.size());
  if (part_) part_->finish();
}

void SharedOutput::commit() {
  ranks().agree("output");
  if (file_) file_->commit();
}

}  // namespace masu::cli
