// SPDX-License-Identifier: Apache-2.0
// Sources read in pieces: one, or several side by side, and rows of equal length in them.
#pragma once

#include "terminal.h"

#include <masu/device.h>
#include <masu/dtype.h>
#include <masu/io.h>

#include <cstddef>
#include <cstdint>
#include <functional>
#include <future>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

namespace masu::cli {

// How much of some sources is held at a time: what suits the device for each, but no more than was allowed for all.
std::uint64_t chunk_bytes(const Device& device, std::uint64_t sources, std::optional<std::uint64_t> allowed);

// Reads a source piece by piece, whole pixels at a time: in place where the source can give views, else one piece ahead
// of the caller when there are several.
class ChunkReader {
 public:
  // Holds at most `bytes` of the data, but at least one pixel of `channels` values.
  ChunkReader(io::Source& source, unsigned channels, std::uint64_t bytes, Progress& progress);
  ~ChunkReader();
  ChunkReader(const ChunkReader&) = delete;
  ChunkReader& operator=(const ChunkReader&) = delete;

  // The next piece, valid until the next call; empty at the end. Only then is it sure that the pieces were the data.
  ArrayView next();
  // Back to the first piece. What was read whole in one piece is not read again.
  void rewind();
  // Time spent in the source.
  [[nodiscard]] double seconds() const { return seconds_; }

 private:
  [[nodiscard]] std::uint64_t elements(std::uint64_t bytes) const;
  void allocate();
  ArrayView next_copy();
  void check_pixels(std::uint64_t count) const;
  std::uint64_t fill(unsigned buffer);
  io::Source& source_;
  Progress& progress_;
  unsigned channels_;
  std::uint64_t bytes_;
  bool in_place_ = true;        // until the source gives no view
  std::uint64_t capacity_ = 0;  // elements in one buffer
  std::unique_ptr<std::byte[]> buffers_[2];
  std::future<std::uint64_t> ahead_;
  unsigned current_ = 1;
  std::uint64_t pieces_ = 0;
  std::uint64_t first_count_ = 0;
  bool ended_ = false;
  bool replay_ = false;
  double seconds_ = 0;
};

// One or several sources of one dtype and equal length, read side by side in pieces.
class Pieces {
 public:
  // Holds at most `bytes` of the data, but at least one pixel of `channels` values of each source.
  Pieces(std::span<const std::unique_ptr<io::Source>> sources, unsigned channels, std::uint64_t bytes,
         Progress& progress);
  // The next piece of each source, all equally long, valid until the next call; empty views at the end. Throws io when
  // the sources turn out to be of different length.
  std::span<const ArrayView> next();
  // Back to the first piece.
  void rewind();
  // Time spent in the sources.
  [[nodiscard]] double seconds() const;

 private:
  std::span<const std::unique_ptr<io::Source>> sources_;
  std::vector<std::unique_ptr<ChunkReader>> readers_;
  std::vector<ArrayView> ahead_;  // what is left of each reader's piece
  std::vector<ArrayView> views_;
};

// Rows of equal length in data that comes in pieces of any length.

// Gathers pieces into whole rows; one that does not come in one piece is copied. Or parts them at the ends of rows.
class Rows {
 public:
  using Whole = std::function<void(const ArrayView& rows, std::uint64_t count)>;
  // `ends`: nothing of the row comes after the part.
  using Part = std::function<void(const ArrayView& part, bool ends)>;
  // `are_whole` says which of the two takes the data; with a length of 0 all of it is one row, which `part` takes.
  Rows(std::uint64_t length, bool are_whole, Whole whole, Part part)
      : length_(length), are_whole_(are_whole && length > 0), whole_(std::move(whole)), part_(std::move(part)) {}
  void add(const ArrayView& piece);

 private:
  void gather(const ArrayView& piece);
  std::uint64_t length_;
  bool are_whole_;
  Whole whole_;
  Part part_;
  std::uint64_t within_ = 0;    // elements that came of a row in parts
  std::vector<std::byte> row_;  // and of one that is to be whole
};

// The elements from `first` on.
ArrayView part_of(const ArrayView& data, std::uint64_t first, std::uint64_t count);

// Inputs that the ranks share: each reads its part. Files of raw and .npy and generators are cut by elements, text
// files by lines; of all else (standard input, pipes, images) rank 0 reads all, and the others nothing. Alone, a
// process reads all of everything.

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
