// SPDX-License-Identifier: Apache-2.0
// Sorts lines by keys that memcmp() orders, stably, through files where they are more than memory holds. The first 8
// bytes of all keys are sorted as numbers, and where they are equal the next 8, so that few lines are ever compared;
// the lines themselves move once, when they are written.
#pragma once

#include "cli/sort/sort_job.h"

#include <masu/device.h>

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace masu::cli {

class LineSort {
 public:
  struct Request {
    Device device;
    std::uint64_t memory = 0;
    std::string tmpdir;
    std::optional<std::uint64_t> first;       // no more than these are wanted
    std::optional<std::uint64_t> first_each;  // the same of those that share the first 8 bytes of their keys
    bool unique = false;                      // of lines with equal keys only the first
  };
  explicit LineSort(Request request)
      : request_(std::move(request)),
        most_records_(ExternalSort::capacity(request_.device, {Dtype::u64, sizeof(char*), false}, request_.memory)),
        runs_({Dtype::u64, sizeof(TextSize), true}, Order::ascending, request_.memory, request_.tmpdir) {
    request_.memory = std::max(request_.memory, least_held);
  }

  // No key may be the beginning of another one.
  void add(std::string_view key, std::string_view line) {
    ++count_;
    const std::uint64_t word = word_at(key, 0);
    if (worst_ && (word > *worst_ || (word == *worst_ && key.size() <= sizeof word))) return;
    key.remove_prefix(std::min(key.size(), sizeof word));
    const std::uint64_t bytes = sizeof(TextSize) + key.size() + line.size();
    const bool full = bytes_ + bytes + (records_.size() + 1) * record_bytes > request_.memory;
    if (!records_.empty() && (full || records_.size() == most_records_)) {
      if (request_.first && records_.size() / 2 > *request_.first) keep_first();
      else spill();
    } else if (request_.first && records_.size() / 2 > *request_.first + spare_records) {
      keep_first();
    }
    const TextSize size{static_cast<std::uint32_t>(key.size()), static_cast<std::uint32_t>(line.size())};
    char* record = room(bytes);
    std::memcpy(record, &size, sizeof size);
    if (!key.empty()) std::memcpy(record + sizeof size, key.data(), key.size());
    if (!line.empty()) std::memcpy(record + sizeof size + key.size(), line.data(), line.size());
    keys_.push_back(word);
    records_.push_back(record);
    bytes_ += bytes;
    longer_ = longer_ || !key.empty();
  }

  using Sink = std::function<void(std::string_view line)>;
  void finish(const Sink& sink) {
    if (runs_.count() == 0) {
      sort_held();
      for (std::size_t i = 0; i < records_.size(); ++i) {
        if (i + prefetched < records_.size()) __builtin_prefetch(records_[i + prefetched]);
        give(keys_[i], size_of_record(records_[i]), records_[i] + sizeof(TextSize), sink);
      }
      return;
    }
    if (!records_.empty()) spill();
    chunks_.clear();
    keys_ = std::vector<std::uint64_t>();
    records_ = std::vector<const char*>();
    const auto took = [&](std::uint64_t bytes) { progress(bytes); };
    runs_.merge(
        [&](const Records& block) {
          const char* text = block.text.data();
          for (std::uint64_t i = 0; i < block.keys.count; ++i) {
            TextSize size;
            std::memcpy(&size, block.payload + i * sizeof size, sizeof size);
            give(static_cast<const std::uint64_t*>(block.keys.data)[i], size, text, sink);
            text += std::size_t{size.key} + size.line;
          }
        },
        took);
  }

  [[nodiscard]] std::uint64_t count() const noexcept { return count_; }
  // Runs that were put into files.
  [[nodiscard]] std::uint64_t runs() const noexcept { return runs_.count(); }
  [[nodiscard]] const Times& times() const noexcept { return times_; }
  // Gets the bytes that were merged.
  std::function<void(std::uint64_t)> progress = [](std::uint64_t) {};

 private:
  struct Chunk {
    std::unique_ptr<char[]> bytes;
    std::size_t size = 0;
  };
  static constexpr std::uint64_t least_held = std::uint64_t{64} << 10U;
  static constexpr std::uint64_t record_bytes =
      36;  // that sorting takes a record: key, place, and a quarter more than a copy
  static constexpr std::size_t largest_chunk = std::size_t{1} << 20U;
  static constexpr std::uint64_t few = 256;  // records that are compared
  static constexpr std::uint64_t spare_records =
      4096;                                      // beyond those that are wanted, until the others are thrown away
  static constexpr std::size_t prefetched = 16;  // records ahead

  // Bytes `at` … `at` + 7 of a key as a number; zeros after its end.
  static std::uint64_t word_at(std::string_view key, std::size_t at) {
    std::uint64_t word = 0;
    if (at < key.size()) std::memcpy(&word, key.data() + at, std::min<std::size_t>(sizeof word, key.size() - at));
    return std::endian::native == std::endian::little ? __builtin_bswap64(word) : word;
  }

  static TextSize size_of_record(const char* record) {
    TextSize size;
    std::memcpy(&size, record, sizeof size);
    return size;
  }

  // What follows the first 8 bytes of the key.
  static std::string_view rest_of(const char* record) {
    return {record + sizeof(TextSize), size_of_record(record).key};
  }

  char* room(std::size_t bytes) {
    while (chunk_ < chunks_.size() && chunks_[chunk_].size - chunk_used_ < bytes) {
      ++chunk_;
      chunk_used_ = 0;
    }
    if (chunk_ == chunks_.size()) {
      const auto size = std::max<std::size_t>(bytes, std::min<std::uint64_t>(largest_chunk, request_.memory / 16));
      chunks_.push_back({std::make_unique_for_overwrite<char[]>(size), size});
      chunk_used_ = 0;
    }
    return chunks_[chunk_].bytes.get() + std::exchange(chunk_used_, chunk_used_ + bytes);
  }

  void sort_held() {
    SortOptions options;
    Times took;
    options.times = &took;
    masu::sort_by_key(request_.device, MutableArrayView(Dtype::u64, keys_.data(), keys_.size()),
                      RecordsView(records_.data(), sizeof(char*), records_.size()), options);
    times_ += took;
    const auto began = Clock::now();
    if (longer_) refine();
    times_.compute += since(began);
  }

  // Puts records of equal first words in order, by a word of their keys after the other.
  void refine() {
    struct Equal {
      std::size_t first = 0;
      std::size_t count = 0;
      std::size_t at = 0;  // bytes of the rest of the key that are equal too
    };
    std::vector<Equal> left;
    const auto find_equal = [&left](std::span<const std::uint64_t> words, std::size_t first, std::size_t at) {
      for (std::size_t begin = 0; begin < words.size();) {
        std::size_t end = begin + 1;
        while (end < words.size() && words[end] == words[begin]) ++end;
        if (end - begin > 1) left.push_back({first + begin, end - begin, at});
        begin = end;
      }
    };
    find_equal(keys_, 0, 0);
    std::vector<std::uint64_t> words;
    while (!left.empty()) {
      const Equal some = left.back();
      left.pop_back();
      const std::span<const char*> records(records_.data() + some.first, some.count);
      if (rest_of(records[0]).size() <= some.at) continue;  // the keys end here, all of them
      if (some.count <= few) {
        std::stable_sort(records.begin(), records.end(), [&](const char* a, const char* b) {
          return rest_of(a).substr(some.at) < rest_of(b).substr(some.at);
        });
        continue;
      }
      words.resize(some.count);
      for (std::size_t i = 0; i < some.count; ++i) words[i] = word_at(rest_of(records[i]), some.at);
      masu::sort_by_key(request_.device, MutableArrayView(Dtype::u64, words.data(), words.size()),
                        RecordsView(records.data(), sizeof(char*), records.size()), {});
      find_equal(words, some.first, some.at + sizeof(std::uint64_t));
    }
  }

  // Throws away what is not among the first.
  void keep_first() {
    sort_held();
    std::vector<Chunk> old = std::exchange(chunks_, {});
    keys_.resize(*request_.first);
    records_.resize(*request_.first);
    chunk_ = chunk_used_ = 0;
    bytes_ = 0;
    for (const char*& record : records_) {
      const TextSize size = size_of_record(record);
      const std::size_t bytes = sizeof size + size.key + size.line;
      char* kept = room(bytes);
      std::memcpy(kept, record, bytes);
      record = kept;
      bytes_ += bytes;
    }
    worst_ = keys_.back();
  }

  // Puts all that is held into files, as a run.
  void spill() {
    sort_held();
    const auto began = Clock::now();
    std::vector<TextSize> sizes;
    std::string text;
    std::size_t first = 0;  // of what was not written
    for (std::size_t i = 0; i < records_.size(); ++i) {
      if (i + prefetched < records_.size()) __builtin_prefetch(records_[i + prefetched]);
      const TextSize size = size_of_record(records_[i]);
      sizes.push_back(size);
      text.append(records_[i] + sizeof size, std::size_t{size.key} + size.line);
      if (text.size() < largest_chunk / 2 && i + 1 < records_.size()) continue;
      const Records some{
          {Dtype::u64, keys_.data() + first, sizes.size()}, reinterpret_cast<const std::byte*>(sizes.data()), text};
      if (first == 0) runs_.add(some);
      else runs_.add_to_last(some);
      first = i + 1;
      sizes.clear();
      text.clear();
    }
    times_.compute += since(began);
    keys_.clear();
    records_.clear();
    chunk_ = chunk_used_ = 0;
    bytes_ = 0;
  }

  void give(std::uint64_t key, const TextSize& size, const char* text, const Sink& sink) {
    if (request_.first_each && key != last_key_) given_ = 0;
    if (given_ == request_.first || given_ == request_.first_each) return;
    if (request_.unique) {
      const std::string_view rest(text, size.key);
      if (given_ != 0 && key == last_key_ && rest == last_rest_) return;
      last_rest_.assign(rest);
    }
    last_key_ = key;
    ++given_;
    sink({text + size.key, size.line});
  }

  Request request_;
  std::uint64_t most_records_;
  std::vector<std::uint64_t> keys_;   // the first 8 bytes of each
  std::vector<const char*> records_;  // a TextSize, the rest of the key, the line
  std::vector<Chunk> chunks_;         // that have them
  std::size_t chunk_ = 0;             // of the next record
  std::size_t chunk_used_ = 0;
  std::uint64_t bytes_ = 0;             // of all records
  bool longer_ = false;                 // some key has more than 8 bytes
  std::optional<std::uint64_t> worst_;  // a key of more is not among the first, nor one that is equal and ends there
  std::uint64_t count_ = 0;
  std::uint64_t given_ = 0;
  std::uint64_t last_key_ = 0;  // of what was given
  std::string last_rest_;
  ExternalRuns runs_;
  Times times_;
};

}  // namespace masu::cli
