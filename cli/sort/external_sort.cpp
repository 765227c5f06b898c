// SPDX-License-Identifier: Apache-2.0
#include "cli/sort/sort_job.h"
#include "io/reader.h"
#include "sort/sort_job.h"
#include "text.h"

#include <algorithm>
#include <bit>
#include <cstring>
#include <limits>
#include <new>
#include <utility>

namespace masu::cli {
namespace {

// The stable merge of several sorted runs at once, by a tree of losers (Knuth, The Art of Computer Programming, volume
// 3, section 5.4.1): one comparison for each level of the tree and element.

// Finds the least of the keys of several players, and the next one after it is replaced, by one comparison a level. Of
// equal keys, tie(a, b) decides between players (less than 0: a wins), and then the lower number.
template <class Tie>
class LoserTree {
 public:
  LoserTree(std::size_t players, Tie tie)
      : tie_(tie), leaves_(std::bit_ceil(players < 1 ? std::size_t{1} : players)), nodes_(2 * leaves_) {}

  // Before build(): a player without a key is out.
  void set(std::size_t player, std::uint64_t key) {
    nodes_[leaves_ + player] = {key, static_cast<std::uint32_t>(player)};
  }
  void build() {
    std::vector<Entry> winners(nodes_);
    for (std::size_t i = leaves_ - 1; i >= 1; --i) {
      const bool left = before(winners[2 * i], winners[2 * i + 1]);
      winners[i] = winners[2 * i + (left ? 0 : 1)];
      nodes_[i] = winners[2 * i + (left ? 1 : 0)];
    }
    best_ = winners[1];
  }

  [[nodiscard]] bool empty() const noexcept { return best_.player == nobody; }
  [[nodiscard]] std::uint32_t winner() const noexcept { return best_.player; }
  // Gives the winner another key, or none.
  void replace(std::uint64_t key) { play({key, best_.player}, best_.player); }
  void drop() { play({}, best_.player); }

 private:
  static constexpr std::uint32_t nobody = std::numeric_limits<std::uint32_t>::max();
  struct Entry {
    std::uint64_t key = std::numeric_limits<std::uint64_t>::max();
    std::uint32_t player = nobody;
  };
  [[nodiscard]] bool before(const Entry& a, const Entry& b) const noexcept {
    if (a.key != b.key) return a.key < b.key;
    const int decided = a.player == nobody || b.player == nobody ? 0 : tie_(a.player, b.player);
    return decided != 0 ? decided < 0 : a.player < b.player;
  }
  void play(Entry entry, std::uint32_t player) {
    for (std::size_t i = (leaves_ + player) / 2; i >= 1; i /= 2) {
      if (before(nodes_[i], entry)) std::swap(nodes_[i], entry);
    }
    best_ = entry;
  }

  Tie tie_;
  std::size_t leaves_;
  std::vector<Entry> nodes_;  // the losers at 1 … leaves - 1
  Entry best_;
};

// A part of a file that is read in blocks.
class BlockReader {
 public:
  BlockReader(const io::SpoolFile& file, std::size_t element, std::uint64_t first, std::uint64_t count,
              std::uint64_t block_bytes)
      : file_(file),
        element_(element),
        next_(first),
        left_(count),
        block_(std::clamp<std::uint64_t>(block_bytes / element, 1, std::max<std::uint64_t>(count, 1))),
        buffer_(std::make_unique_for_overwrite<std::byte[]>(block_ * element)) {
    refill();
  }
  // Elements that lie ready at data(); 0 at the end of the part.
  [[nodiscard]] std::uint64_t ready() const noexcept { return ready_; }
  [[nodiscard]] const std::byte* data() const noexcept { return at_; }
  // Goes on by one element, which is ready; true while there are more.
  bool next() {
    at_ += element_;
    return --ready_ != 0 || refill();
  }

 private:
  bool refill() {
    ready_ = std::min(block_, left_);
    if (ready_ == 0) return false;
    file_.read(buffer_.get(), ready_ * element_, next_ * element_);
    at_ = buffer_.get();
    next_ += ready_;
    left_ -= ready_;
    if (left_ > 0) file_.expect(std::min(block_, left_) * element_, next_ * element_);
    return true;
  }
  const io::SpoolFile& file_;
  std::size_t element_;
  std::uint64_t next_;   // the element to be read next
  std::uint64_t left_;   // that are not read yet
  std::uint64_t block_;  // elements
  std::unique_ptr<std::byte[]> buffer_;
  const std::byte* at_ = nullptr;
  std::uint64_t ready_ = 0;
};

// The texts of a run's records, which are read in blocks too.
class TextReader {
 public:
  TextReader(const io::SpoolFile& file, std::uint64_t first, std::uint64_t bytes, std::uint64_t block_bytes)
      : file_(file), next_(first), left_(bytes), block_(std::max<std::uint64_t>(block_bytes, 1)) {}
  // The next text; valid until the next call.
  const char* take(std::uint64_t bytes) {
    if (ready_ < bytes) refill(bytes);
    const char* text = buffer_.data() + (held_ - ready_);
    ready_ -= bytes;
    return text;
  }

 private:
  void refill(std::uint64_t bytes) {
    std::memmove(buffer_.data(), buffer_.data() + (held_ - ready_), ready_);
    held_ = std::min(std::max(bytes, block_), ready_ + left_);
    if (buffer_.size() < held_) buffer_.resize(held_);
    const std::uint64_t more = held_ - ready_;
    file_.read(buffer_.data() + ready_, more, next_);
    next_ += more;
    left_ -= more;
    ready_ = held_;
    if (left_ > 0) file_.expect(std::min(block_, left_), next_);
  }
  const io::SpoolFile& file_;
  std::uint64_t next_;  // the byte to be read next
  std::uint64_t left_;  // that are not read yet
  std::uint64_t block_;
  std::vector<char> buffer_;
  std::uint64_t held_ = 0;   // bytes of the buffer that are filled
  std::uint64_t ready_ = 0;  // the last of them, which were not taken
};

class ExternalMerge {
 public:
  struct Plan {
    RecordShape shape;
    Order order = Order::ascending;
    std::uint64_t run_bytes = 0;     // of buffers for each run
    std::uint64_t output_bytes = 0;  // of a block of the result
  };
  ExternalMerge(const Plan& plan, const io::SpoolFile& keys, const io::SpoolFile& payload, const io::SpoolFile& text)
      : plan_(plan), key_file_(keys), payload_file_(payload), text_file_(text) {
    block_ = std::max<std::uint64_t>(1, plan.output_bytes / (plan.shape.bytes() + sizeof(std::uint32_t)));
    sources_.resize(plan.shape.payload_bytes > 0 ? block_ : 0);
    payload_ = std::make_unique_for_overwrite<std::byte[]>(block_ * plan.shape.payload_bytes);
  }

  // Records in both files; of equal keys, those of the run that was added first come first.
  void add(std::uint64_t first, std::uint64_t count, std::uint64_t text_first, std::uint64_t text) {
    // Both columns of a run are read in blocks of as many records; texts get half of the memory.
    const std::uint64_t bytes = plan_.shape.text ? plan_.run_bytes / 2 : plan_.run_bytes;
    const std::uint64_t records = std::max<std::uint64_t>(1, bytes / plan_.shape.bytes());
    const std::size_t element = size_of(plan_.shape.keys);
    const std::size_t payload = plan_.shape.payload_bytes;
    keys_.emplace_back(key_file_, element, first, count, records * element);
    if (payload > 0) payloads_.emplace_back(payload_file_, payload, first, count, records * payload);
    if (plan_.shape.text) texts_.emplace_back(text_file_, text_first, text, bytes);
  }
  void run(const RecordSink& sink) {
    if (plan_.shape.text) return merge_texts(sink);
    dispatch(plan_.shape.keys, [&]<class T>(TypeTag<T>) { merge_keys<T>(sink); });
  }

 private:
  // Calls take(run, reader) for the run of each record, in order; key(run, reader) is that of the run's next record.
  template <class Tie, class Key, class Take>
  void each(Tie tie, const Key& key, const Take& take) {
    LoserTree tree(keys_.size(), tie);
    for (std::uint32_t i = 0; i < keys_.size(); ++i) {
      if (keys_[i].ready() > 0) tree.set(i, key(i, keys_[i]));
    }
    tree.build();
    while (!tree.empty()) {
      const std::uint32_t run = tree.winner();
      BlockReader& reader = keys_[run];
      take(run, reader);
      if (reader.next()) tree.replace(key(run, reader));
      else tree.drop();
    }
  }
  template <class T>
  void merge_keys(const RecordSink& sink) {
    const auto key_of = [&](std::uint32_t, const BlockReader& reader) {
      T value;
      std::memcpy(&value, reader.data(), sizeof value);
      return std::uint64_t{sort_key(value, plan_.order)};
    };
    std::vector<T> block(block_);
    const bool with_payload = plan_.shape.payload_bytes > 0;
    std::uint64_t count = 0;
    const auto flush = [&] {
      if (with_payload) collect_payload(count);
      sink({{plan_.shape.keys, block.data(), count}, payload_.get()});
      count = 0;
    };
    const auto no_tie = [](std::uint32_t, std::uint32_t) { return 0; };
    each(no_tie, key_of, [&](std::uint32_t run, const BlockReader& reader) {
      std::memcpy(&block[count], reader.data(), sizeof(T));
      if (with_payload) sources_[count] = run;
      if (++count == block_) flush();
    });
    if (count > 0) flush();
  }
  // Records with texts, which may decide, so that each run's next text is at hand.
  void merge_texts(const RecordSink& sink) {
    struct Next {
      std::uint64_t key = 0;
      TextSize size;
      const char* text = nullptr;
    };
    std::vector<Next> next(keys_.size());
    const auto tie = [&](std::uint32_t a, std::uint32_t b) {
      return std::string_view(next[a].text, next[a].size.key).compare({next[b].text, next[b].size.key});
    };
    const auto key_of = [&](std::uint32_t run, const BlockReader& reader) {
      Next& own = next[run];
      std::memcpy(&own.key, reader.data(), sizeof own.key);
      std::memcpy(&own.size, payloads_[run].data(), sizeof own.size);
      own.text = texts_[run].take(std::uint64_t{own.size.key} + own.size.line);
      return own.key;
    };
    std::vector<std::uint64_t> keys;
    std::vector<TextSize> sizes;
    std::string texts;
    const auto flush = [&] {
      sink({{Dtype::u64, keys.data(), keys.size()}, reinterpret_cast<const std::byte*>(sizes.data()), texts});
      keys.clear();
      sizes.clear();
      texts.clear();
    };
    each(tie, key_of, [&](std::uint32_t run, const BlockReader&) {
      const Next& own = next[run];
      keys.push_back(own.key);
      sizes.push_back(own.size);
      texts.append(own.text, std::uint64_t{own.size.key} + own.size.line);
      (void)payloads_[run].next();
      if (texts.size() + keys.size() * plan_.shape.bytes() >= plan_.output_bytes) flush();
    });
    if (!keys.empty()) flush();
  }
  // The payload goes after the keys: what came from where is known then.
  void collect_payload(std::uint64_t count) {
    const std::size_t bytes = plan_.shape.payload_bytes;
    const auto collect = [&](auto fixed) {
      for (std::uint64_t i = 0; i < count; ++i) {
        BlockReader& from = payloads_[sources_[i]];
        std::memcpy(payload_.get() + i * bytes, from.data(), fixed() > 0 ? fixed() : bytes);
        from.next();
      }
    };
    if (bytes == 8) collect([] { return std::size_t{8}; });
    else if (bytes == 4) collect([] { return std::size_t{4}; });
    else collect([] { return std::size_t{0}; });
  }

  Plan plan_;
  const io::SpoolFile& key_file_;
  const io::SpoolFile& payload_file_;
  const io::SpoolFile& text_file_;
  std::vector<BlockReader> keys_;
  std::vector<BlockReader> payloads_;
  std::vector<TextReader> texts_;
  std::uint64_t block_ = 0;               // records of a block of the result
  std::vector<std::uint32_t> sources_;    // which run each record of the block came from
  std::unique_ptr<std::byte[]> payload_;  // of the block
};

constexpr std::uint64_t least_memory = std::uint64_t{64} << 10U;
constexpr std::uint64_t least_block = std::uint64_t{4} << 10U;
constexpr std::uint64_t good_block = std::uint64_t{256} << 10U;  // from which on reading is as fast as it gets
constexpr std::uint64_t most_merged = 1024;
constexpr std::uint64_t first_reserve = std::uint64_t{1} << 20U;
constexpr std::uint64_t least_run = 4096;  // records: less is not parted when a device has no memory for it

}  // namespace

ExternalRuns::ExternalRuns(const RecordShape& shape, Order order, std::uint64_t memory, const std::string& folder)
    : shape_(shape),
      order_(order),
      memory_(std::max(memory, least_memory)),
      keys_(folder),
      payload_(folder),
      text_(folder) {}

// Three quarters of the memory are for the runs, the rest for what is made of them.
std::uint64_t ExternalRuns::block_bytes() const {
  return std::clamp(memory_ / 64, least_block, good_block);
}

std::uint64_t ExternalRuns::most_runs() const {
  return std::clamp<std::uint64_t>(memory_ / 4 * 3 / block_bytes(), 2, most_merged);
}

// A run of nothing, after all others.
ExternalRuns::Run ExternalRuns::end() const {
  return {keys_.size() / size_of(shape_.keys), 0, 0, text_.size()};
}

void ExternalRuns::append(Run& run, const Records& records) {
  keys_.append(records.keys.data, records.keys.count * size_of(shape_.keys));
  if (shape_.payload_bytes > 0) payload_.append(records.payload, records.keys.count * shape_.payload_bytes);
  if (shape_.text) text_.append(records.text.data(), records.text.size());
  run.count += records.keys.count;
  run.text += records.text.size();
}

void ExternalRuns::add(const Records& run) {
  runs_.push_back(end());
  add_to_last(run);
}

void ExternalRuns::add_to_last(const Records& more) {
  append(runs_.back(), more);
  records_ += more.keys.count;
}

void ExternalRuns::merge_some(std::span<const Run> runs, const RecordSink& sink) {
  const std::uint64_t for_runs = memory_ / 4 * 3 / runs.size();
  ExternalMerge merge({shape_, order_, for_runs, memory_ / 8}, keys_, payload_, text_);
  for (const Run& run : runs) merge.add(run.first, run.count, run.text_first, run.text);
  merge.run(sink);
}

// Merges neighbours until all that are left can be merged at once.
void ExternalRuns::reduce(const std::function<void(std::uint64_t)>& done) {
  for (std::size_t at = 0; runs_.size() > most_runs(); ++at) {
    const auto group = static_cast<std::size_t>(std::min(most_runs(), runs_.size() - most_runs() + 1));
    if (at + group > runs_.size()) at = 0;
    const std::span<const Run> some(runs_.data() + at, group);
    Run merged = end();
    merge_some(some, [&](const Records& block) {
      append(merged, block);
      done(block.keys.count * shape_.bytes() + block.text.size());
    });
    for (const Run& run : some) {
      keys_.release(run.count * size_of(shape_.keys), run.first * size_of(shape_.keys));
      if (shape_.payload_bytes > 0)
        payload_.release(run.count * shape_.payload_bytes, run.first * shape_.payload_bytes);
      if (shape_.text) text_.release(run.text, run.text_first);
    }
    const auto begin = runs_.begin() + static_cast<std::ptrdiff_t>(at);
    runs_.erase(begin + 1, begin + static_cast<std::ptrdiff_t>(group));
    *begin = merged;
  }
}

void ExternalRuns::merge(const RecordSink& sink, const std::function<void(std::uint64_t)>& done) {
  reduce(done);
  if (runs_.empty()) return;
  merge_some(runs_, [&](const Records& block) {
    sink(block);
    done(block.keys.count * shape_.bytes() + block.text.size());
  });
}

// Sorting takes a copy of the records and a quarter more, beside the records themselves.
std::uint64_t ExternalSort::capacity(const Device& device, const RecordShape& shape, std::uint64_t memory) {
  if (device.kind() != DeviceKind::cpu) memory = std::min(memory, device.info().memory_bytes / 8 * 7);
  return std::max<std::uint64_t>(1, memory / 9 * 4 / shape.bytes());
}

ExternalSort::ExternalSort(Request request)
    : request_(std::move(request)),
      capacity_(capacity(request_.device, request_.shape, request_.memory)),
      runs_(request_.shape, request_.order, request_.memory, request_.tmpdir) {
  if (request_.count) capacity_ = std::clamp<std::uint64_t>(*request_.count, 1, capacity_);
}

// Room for all where the count is known; else it grows with what comes.
void ExternalSort::reserve() {
  if (filled_ < reserved_ || reserved_ == capacity_) return;
  const std::uint64_t more = std::max(first_reserve / request_.shape.bytes() + 1, reserved_ * 2);
  reserved_ = request_.count ? capacity_ : std::min(capacity_, more);
  const auto grow = [&](std::unique_ptr<std::byte[], Free>& memory, std::uint64_t bytes) {
    if (bytes == 0) return;
    void* grown = std::realloc(memory.get(), bytes);
    if (grown == nullptr) throw std::bad_alloc();
    (void)memory.release();
    memory.reset(static_cast<std::byte*>(grown));
  };
  grow(keys_, reserved_ * size_of(request_.shape.keys));
  grow(payload_, reserved_ * request_.shape.payload_bytes);
}

ExternalSort::Room ExternalSort::room() {
  reserve();
  if (filled_ == capacity_) spill(0, std::exchange(filled_, 0));
  return {keys(filled_), request_.payload == Payload::given ? payload(filled_) : nullptr, reserved_ - filled_};
}

void ExternalSort::add(const Records& records) {
  const std::size_t key_bytes = size_of(request_.shape.keys);
  const std::size_t payload_bytes = request_.shape.payload_bytes;
  const auto* from = static_cast<const std::byte*>(records.keys.data);
  for (std::uint64_t done = 0; done < records.keys.count;) {
    const Room here = room();
    const std::uint64_t some = std::min(here.count, records.keys.count - done);
    std::memcpy(here.keys, from + done * key_bytes, some * key_bytes);
    if (here.payload != nullptr) {
      std::memcpy(here.payload, records.payload + done * payload_bytes, some * payload_bytes);
    }
    filled(some);
    done += some;
  }
}

void ExternalSort::sort_in_memory(std::uint64_t first, std::uint64_t count, std::uint64_t rows, bool index_only) {
  Times took;
  SortOptions how;
  how.order = request_.order;
  how.algorithm = request_.algorithm;
  how.rows = rows;
  how.times = &took;
  const MutableArrayView sorted(request_.shape.keys, keys(first), count);
  if (request_.payload == Payload::none) {
    masu::sort(request_.device, sorted, how);
  } else if (index_only) {
    masu::argsort(request_.device, sorted, MutableArrayView(Dtype::u64, payload(first), count), how);
  } else {
    masu::sort_by_key(request_.device, sorted, RecordsView(payload(first), request_.shape.payload_bytes, count), how);
  }
  times_ += took;
}

void ExternalSort::number(std::uint64_t first, std::uint64_t count) {
  if (request_.payload != Payload::index && request_.payload != Payload::number) return;
  std::uint64_t number = spilled_;
  for (std::uint64_t i = first; i < first + count; ++i, ++number) std::memcpy(payload(i), &number, sizeof number);
}

// A run, or several where the device has no memory for so much.
void ExternalSort::spill(std::uint64_t first, std::uint64_t count) {
  number(first, count);
  try {
    sort_in_memory(first, count, 1, false);
  } catch (const Error& error) {
    if (error.code() != ErrorCode::out_of_memory || count < 2 * least_run) throw;
    spill(first, count / 2);
    spill(first + count / 2, count - count / 2);
    return;
  }
  const auto began = Clock::now();
  runs_.add({{request_.shape.keys, keys(first), count}, payload(first)});
  times_.compute += since(began);
  spilled_ += count;
  ++run_count_;
  progress(count * request_.shape.bytes());
}

void ExternalSort::finish(const RecordSink& sink, std::uint64_t rows) {
  const bool index_only = request_.payload == Payload::index;
  if (runs_.count() == 0) {  // without records too: the device may lack the algorithm
    if (!index_only) number(0, filled_);
    try {
      sort_in_memory(0, filled_, rows, index_only);
      sink({{request_.shape.keys, keys_.get(), filled_}, payload_.get()});
      spilled_ = std::exchange(filled_, 0);
      return;
    } catch (const Error& error) {  // a device with less memory than it says: keys are as they were
      if (error.code() != ErrorCode::out_of_memory || rows > 1 || filled_ < 2 * least_run) throw;
    }
  }
  if (filled_ > 0) spill(0, std::exchange(filled_, 0));
  keys_.reset();
  payload_.reset();
  const auto began = Clock::now();
  double outside = 0;  // time that the caller took
  const RecordSink timed = [&](const Records& block) {
    const auto start = Clock::now();
    sink(block);
    outside += since(start);
  };
  runs_.merge(timed, progress);
  times_.compute += since(began) - outside;
}

}  // namespace masu::cli
