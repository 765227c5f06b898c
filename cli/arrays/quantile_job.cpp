// SPDX-License-Identifier: Apache-2.0
#include "cli/arrays/quantile_job.h"

#include "cli/arrays/row_pieces.h"
#include "ranks.h"

#include <fmt/format.h>
#include <algorithm>
#include <cstring>
#include <limits>
#include <span>
#include <type_traits>

namespace masu::cli {
namespace {

constexpr std::uint64_t row_copies = 8;  // of a whole row and what is made of it, that memory has to hold

void add_times(QuantileFound& found, const Times& times) {
  found.times.transfer += times.transfer;
  found.times.compute += times.compute;
}

// The elements from `first` on; the others of the stream are passed over. `shared`: those of all ranks.
void find_part(ArrayStream& stream, const QuantileRequest& request, std::uint64_t first, std::uint64_t end, bool shared,
               QuantileFound& found) {
  QuantileOptions options;
  options.method = request.method;
  QuantileFinder finder(stream.device(), stream.info().dtype, request.q, options);
  std::uint64_t at = 0;
  do {
    at = 0;
    stream.pass([&](const ArrayView& piece) {
      const std::uint64_t from = std::clamp(first, at, at + piece.count);
      const std::uint64_t to = std::clamp(end, at, at + piece.count);
      finder.add(part_of(piece, from - at, to - from));
      at += piece.count;
      return at < end;
    });
    if (shared) {
      add_times(found, finder.times());
      merge_states("quantiles", stream.device(), finder);
    }
    if (finder.count() == 0) {
      throw Error(ErrorCode::io, fmt::format("{}: there are no values, so no quantiles", stream.info().name));
    }
  } while (finder.next_pass());
  const std::vector<Quantile> part = finder.result();
  found.quantiles.insert(found.quantiles.end(), part.begin(), part.end());
  found.count += finder.count();
  if (shared) (void)stream.settle(at);
  else add_times(found, finder.times());
}

// The rows of all ranks, in their order.
void join_rows(ArrayStream& stream, QuantileFound& found) {
  if (!ranks().several()) return;
  static_assert(std::is_trivially_copyable_v<Quantile>);
  const auto bytes = std::as_bytes(std::span(found.quantiles));
  const std::vector<Ranks::Bytes> all = ranks().from_each("rows", {bytes.begin(), bytes.end()});
  found.quantiles.clear();
  for (const Ranks::Bytes& part : all) {
    const std::size_t before = found.quantiles.size();
    found.quantiles.resize(before + part.size() / sizeof(Quantile));
    if (!part.empty()) std::memcpy(found.quantiles.data() + before, part.data(), part.size());
  }
  found.count = stream.settle(found.count);
}

void find_whole_rows(ArrayStream& stream, const QuantileRequest& request, QuantileFound& found) {
  WholeRows gather(*request.row_length);
  stream.limit_pieces(request.memory / row_copies);
  stream.pass([&](const ArrayView& piece) {
    gather.add(piece, [&](const ArrayView& rows, std::uint64_t count) {
      Times took;
      QuantileOptions options{request.method, count, &took};
      const std::vector<Quantile> part = exact_quantiles(stream.device(), rows, request.q, options);
      found.quantiles.insert(found.quantiles.end(), part.begin(), part.end());
      found.count += rows.count;
      add_times(found, took);
    });
    return true;
  });
}

}  // namespace

QuantileFound find_quantiles(ArrayStream& stream, const QuantileRequest& request) {
  QuantileFound found;
  const std::uint64_t length = request.row_length.value_or(0);
  const std::uint64_t row_bytes = length * size_of(stream.info().dtype);
  if (length > 0 && row_bytes <= request.memory / row_copies) {
    find_whole_rows(stream, request, found);
    join_rows(stream, found);
    return found;
  }
  if (size_of(stream.info().dtype) > 1) stream.keep();  // one pass finds bytes
  if (length == 0) {
    find_part(stream, request, 0, std::numeric_limits<std::uint64_t>::max(), ranks().several(), found);
  } else {
    for (std::uint64_t row = 0; row < stream.rows(); ++row) {
      find_part(stream, request, row * length, (row + 1) * length, false, found);
    }
    join_rows(stream, found);
  }
  return found;
}

}  // namespace masu::cli
