// SPDX-License-Identifier: Apache-2.0
// Inputs that the ranks share: each reads its part. Files of raw and .npy and generators are cut by elements, text
// files by lines; of all else (standard input, pipes, images) rank 0 reads all, and the others nothing. Alone, a
// process reads all of everything.
#pragma once

#include <masu/io.h>

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>

namespace masu::cli {

// How the ranks share a source. `first`: rank 0 has all of it.
enum class Way { elements, lines, first };

struct SharedSource {
  std::unique_ptr<io::Source> source;
  Way way = Way::first;
};

// All of these are collective (ranks.h).

// Not cut yet, but for text by lines, where `lines` allows it: texts whose entries need not stay beside those of
// another source. Texts that decide their dtype have the same one on every rank.
SharedSource open_shared(const std::string& input, const io::SourceOptions& options, bool lines);
// What open() returns on the first rank alone, `name` is that of its input; `told`: its dtype is not open to change.
SharedSource open_for_first(const std::string& name, const std::function<std::unique_ptr<io::Source>()>& open,
                            bool told);
// The elements of the whole source, where they are known before reading. Before it is cut.
std::optional<std::uint64_t> shared_count(const io::Source& source, Way way);
// The same, read through to the end and back again where they are not known; not of one that is shared by lines.
std::uint64_t measure_shared(io::Source& source, Way way);

struct Cut {
  std::uint64_t multiple = 1;  // elements that stay together
  std::uint64_t rows = 0;      // of equal length, that stay whole; 0: there are none
};
// Cuts sources alike, before they are read: equally long ones. Where one of them cannot be cut, the first rank keeps
// all of all. Returns how many rows this rank has.
std::uint64_t cut_shared(std::span<std::unique_ptr<io::Source>> sources, std::span<const Way> ways,
                         const Cut& cut = {});

}  // namespace masu::cli
