// SPDX-License-Identifier: Apache-2.0
// Datasets of HDF5 through libhdf5 1.10, whose documented ABI is declared here. The library brings the elements to this
// machine's byte order.
#include "elements/dtypes.h"
#include "io/containers.h"

#include <fmt/format.h>
#include <algorithm>
#include <array>
#include <utility>

namespace masu::io {
namespace {

using Hid = std::int64_t;          // hid_t
using Hsize = unsigned long long;  // hsize_t

// H5E_error2_t.
struct Hdf5Error {
  Hid class_id;
  Hid major;
  Hid minor;
  unsigned line;
  const char* function;
  const char* file;
  const char* text;
};

struct LibHdf5 {
  SharedLibrary library = library_of("HDF5");
  int (*H5open)() = library.function("H5open");
  int (*H5Eset_auto2)(Hid, void*, void*) = library.function("H5Eset_auto2");
  int (*H5Ewalk2)(Hid, int, int (*)(unsigned, const Hdf5Error*, void*), void*) = library.function("H5Ewalk2");
  Hid (*H5Fopen)(const char*, unsigned, Hid) = library.function("H5Fopen");
  int (*H5Fclose)(Hid) = library.function("H5Fclose");
  int (*H5Lvisit)(Hid, int, int, int (*)(Hid, const char*, const void*, void*), void*) = library.function("H5Lvisit");
  Hid (*H5Oopen)(Hid, const char*, Hid) = library.function("H5Oopen");
  int (*H5Oclose)(Hid) = library.function("H5Oclose");
  int (*H5Iget_type)(Hid) = library.function("H5Iget_type");
  Hid (*H5Dget_space)(Hid) = library.function("H5Dget_space");
  Hid (*H5Dget_type)(Hid) = library.function("H5Dget_type");
  Hid (*H5Dget_create_plist)(Hid) = library.function("H5Dget_create_plist");
  int (*H5Dread)(Hid, Hid, Hid, Hid, Hid, void*) = library.function("H5Dread");
  int (*H5Pget_layout)(Hid) = library.function("H5Pget_layout");
  int (*H5Pget_chunk)(Hid, int, Hsize*) = library.function("H5Pget_chunk");
  int (*H5Pclose)(Hid) = library.function("H5Pclose");
  Hid (*H5Screate_simple)(int, const Hsize*, const Hsize*) = library.function("H5Screate_simple");
  int (*H5Sget_simple_extent_type)(Hid) = library.function("H5Sget_simple_extent_type");
  int (*H5Sget_simple_extent_dims)(Hid, Hsize*, Hsize*) = library.function("H5Sget_simple_extent_dims");
  int (*H5Sselect_hyperslab)(Hid, int, const Hsize*, const Hsize*, const Hsize*,
                             const Hsize*) = library.function("H5Sselect_hyperslab");
  int (*H5Sclose)(Hid) = library.function("H5Sclose");
  int (*H5Tget_class)(Hid) = library.function("H5Tget_class");
  std::size_t (*H5Tget_size)(Hid) = library.function("H5Tget_size");
  int (*H5Tget_sign)(Hid) = library.function("H5Tget_sign");
  int (*H5Tget_nmembers)(Hid) = library.function("H5Tget_nmembers");
  int (*H5Tget_member_value)(Hid, unsigned, void*) = library.function("H5Tget_member_value");
  int (*H5Tget_fields)(Hid, std::size_t*, std::size_t*, std::size_t*, std::size_t*,
                       std::size_t*) = library.function("H5Tget_fields");
  std::size_t (*H5Tget_ebias)(Hid) = library.function("H5Tget_ebias");
  Hid (*H5Tget_native_type)(Hid, int) = library.function("H5Tget_native_type");
  Hid (*H5Tcopy)(Hid) = library.function("H5Tcopy");
  int (*H5Tset_order)(Hid, int) = library.function("H5Tset_order");
  int (*H5Tclose)(Hid) = library.function("H5Tclose");
};

constexpr int most_hdf5_rank = 32;  // H5S_MAX_RANK
constexpr std::uint64_t most_block_bytes = std::uint64_t{1} << 28;

// What the library gave an id to.
class Hdf5Handle {
 public:
  Hdf5Handle(Hid id, int (*close)(Hid)) noexcept : id_(id), close_(close) {}
  Hdf5Handle(Hdf5Handle&& other) noexcept : id_(std::exchange(other.id_, -1)), close_(other.close_) {}
  Hdf5Handle& operator=(Hdf5Handle&&) = delete;
  ~Hdf5Handle() {
    const std::scoped_lock lock(library_mutex());
    if (id_ >= 0) close_(id_);
  }
  [[nodiscard]] Hid get() const noexcept { return id_; }
  [[nodiscard]] bool good() const noexcept { return id_ >= 0; }

 private:
  Hid id_;
  int (*close_)(Hid);
};

class Hdf5Source final : public ArraySource {
 public:
  explicit Hdf5Source(Input input) : file_(std::move(input.reader), input.options.tmpdir) {
    const std::scoped_lock lock(library_mutex());
    info_.format = "hdf5";
    hdf5_.H5open();
    hdf5_.H5Eset_auto2(0, nullptr, nullptr);
    opened_.emplace(hdf5_.H5Fopen(file_.path(), 0, 0), hdf5_.H5Fclose);
    if (!opened_->good()) fail("cannot be opened");
    file_.remove_name();
    const std::string path = find(input.array);
    dataset_.emplace(hdf5_.H5Oopen(opened_->get(), path.c_str(), 0), hdf5_.H5Oclose);
    if (!dataset_->good()) fail(printable(path) + " cannot be opened");
    look(input.options);
  }

 private:
  enum TypeClass { integer = 0, floating = 1, enumeration = 8 };

  // With what the library says of it: the innermost reason, or the filter that is not there.
  [[noreturn]] void fail(const std::string& what) const {
    std::string reason;
    const auto take = [](unsigned /*number*/, const Hdf5Error* entry, void* to) {
      auto& text = *static_cast<std::string*>(to);
      const std::string_view said = entry->text == nullptr ? "" : entry->text;
      if (text.empty() || said.starts_with("required filter")) text = said;
      return 0;
    };
    hdf5_.H5Ewalk2(0, 0, take, &reason);
    file_.reader().fail("hdf5: {}{}{}", what, reason.empty() ? "" : ": ", printable(reason));
  }

  // Newer libraries write datasets that older ones do not open: such an object is `unopened`.
  [[nodiscard]] bool has_numbers(Hid group, const char* name, bool unopened) const {
    const Hdf5Handle object(hdf5_.H5Oopen(group, name, 0), hdf5_.H5Oclose);
    constexpr int dataset = 5;  // H5I_DATASET
    if (!object.good()) return unopened;
    if (hdf5_.H5Iget_type(object.get()) != dataset) return false;
    const Hdf5Handle type(hdf5_.H5Dget_type(object.get()), hdf5_.H5Tclose);
    const int kind = type.good() ? hdf5_.H5Tget_class(type.get()) : -1;
    return kind == integer || kind == floating || kind == enumeration;
  }

  // The dataset's path. One that is given may lead over links.
  [[nodiscard]] std::string find(const std::string& asked) const {
    if (!asked.empty() && has_numbers(opened_->get(), asked.c_str(), false)) return asked;
    struct Found {
      const Hdf5Source* source;
      std::vector<std::string> names;
    } found{this, {}};
    const auto take = [](Hid group, const char* name, const void* info, void* to) {
      auto& all = *static_cast<Found*>(to);
      const bool is_hard =
          *static_cast<const int*>(info) == 0;  // H5L_TYPE_HARD, of H5L_info_t; others may lead nowhere
      if (all.source->has_numbers(group, name, is_hard)) all.names.push_back(std::string("/") + name);
      return 0;
    };
    if (hdf5_.H5Lvisit(opened_->get(), 0, 0, take, &found) < 0) fail("cannot be searched for datasets");
    return found.names[chosen_array(file_.reader(), found.names, asked, "dataset", "FILE.h5:/path")];
  }

  void look(const SourceOptions& options) {
    const Hdf5Handle space(hdf5_.H5Dget_space(dataset_->get()), hdf5_.H5Sclose);
    const int kind = space.good() ? hdf5_.H5Sget_simple_extent_type(space.get()) : -1;
    std::array<Hsize, most_hdf5_rank> extents{};
    const int rank = kind < 0 ? -1 : hdf5_.H5Sget_simple_extent_dims(space.get(), extents.data(), nullptr);
    if (rank < 0 || rank > most_hdf5_rank) fail("the dataset has no shape");
    std::vector<std::uint64_t> shape(extents.begin(), extents.begin() + rank);
    if (kind == 2) shape = {0};  // H5S_NULL
    set_array(file_.reader(), options, std::move(shape), find_dtype());
    place_blocks();
  }

  Dtype find_dtype() {
    const Hdf5Handle stored(hdf5_.H5Dget_type(dataset_->get()), hdf5_.H5Tclose);
    const int kind = stored.good() ? hdf5_.H5Tget_class(stored.get()) : -1;
    if (kind == floating) {
      std::array<std::size_t, 5> f{};
      hdf5_.H5Tget_fields(stored.get(), &f[0], &f[1], &f[2], &f[3], &f[4]);
      const std::size_t size = hdf5_.H5Tget_size(stored.get());
      for (const DtypeNames& each : dtype_names) {
        if (!is_float(each.dtype) || size_of(each.dtype) != size) continue;
        const std::size_t exponent = detail::form_of(each.dtype).exponent_bits;
        const std::array<std::size_t, 5> own = {size * 8 - 1, size * 8 - 1 - exponent, exponent, 0,
                                                size * 8 - 1 - exponent};
        if (f != own || hdf5_.H5Tget_ebias(stored.get()) != (std::size_t{1} << (exponent - 1)) - 1) continue;
        type_.emplace(hdf5_.H5Tcopy(stored.get()), hdf5_.H5Tclose);
        hdf5_.H5Tset_order(type_->get(), 0);  // H5T_ORDER_LE
        return each.dtype;
      }
    }
    type_.emplace(hdf5_.H5Tget_native_type(stored.get(), 0), hdf5_.H5Tclose);
    const std::size_t size = type_->good() ? hdf5_.H5Tget_size(type_->get()) : 0;
    if (kind == floating && (size == 4 || size == 8)) return size == 4 ? Dtype::f32 : Dtype::f64;
    const bool is_signed = kind != floating && !has_truth_values(stored.get()) && hdf5_.H5Tget_sign(stored.get()) == 1;
    for (const DtypeNames& each : dtype_names) {
      if (kind != floating && !is_float(each.dtype) && size_of(each.dtype) == size &&
          is_signed_dtype(each.dtype) == is_signed)
        return each.dtype;
    }
    file_.reader().fail("hdf5: elements of {} bytes of this kind are none that masu reads", size);
  }
  // h5py's booleans, which are read as u8: an enumeration of the bytes 0 and 1.
  bool has_truth_values(Hid type) {
    std::array<signed char, 2> values{};
    if (hdf5_.H5Tget_class(type) != enumeration || hdf5_.H5Tget_size(type) != 1 || hdf5_.H5Tget_nmembers(type) != 2)
      return false;
    for (unsigned i = 0; i < 2; ++i) hdf5_.H5Tget_member_value(type, i, &values[i]);
    return std::min(values[0], values[1]) == 0 && std::max(values[0], values[1]) == 1;
  }
  static bool is_signed_dtype(Dtype dtype) noexcept { return names_of(dtype).name[0] == 'i'; }

  // Blocks are slabs along one axis, of about block_bytes, whole chunks where that is not too much.
  void place_blocks() {
    const auto& shape = info_.shape;
    const std::uint64_t limit = block_bytes / size_of(info_.dtype);
    inner_ = 1;
    axis_ = shape.size();
    while (axis_ > 0 && (axis_ == shape.size() || inner_ * std::max<std::uint64_t>(shape[axis_], 1) <= limit)) {
      if (axis_ != shape.size()) inner_ *= std::max<std::uint64_t>(shape[axis_], 1);
      --axis_;
    }
    rows_ = std::max<std::uint64_t>(limit / inner_, 1);
    const Hdf5Handle list(hdf5_.H5Dget_create_plist(dataset_->get()), hdf5_.H5Pclose);
    std::array<Hsize, most_hdf5_rank> chunk{};
    constexpr int chunked = 2;  // H5D_CHUNKED
    if (shape.empty() || !list.good() || hdf5_.H5Pget_layout(list.get()) != chunked ||
        hdf5_.H5Pget_chunk(list.get(), static_cast<int>(shape.size()), chunk.data()) < 0 || chunk[axis_] == 0)
      return;
    const std::uint64_t rows = chunk[axis_];
    const auto bytes = checked_product(rows, inner_ * size_of(info_.dtype));
    if (rows <= rows_) rows_ -= rows_ % rows;
    else if (bytes && *bytes <= most_block_bytes) rows_ = rows;
  }

  [[nodiscard]] Block block_at(std::uint64_t element) const override {
    if (info_.shape.empty()) return {0, 1};
    const std::uint64_t length = info_.shape[axis_];
    const std::uint64_t row = element / inner_;
    const std::uint64_t within = row % length / rows_ * rows_;
    return {(row - row % length + within) * inner_, std::min(rows_, length - within) * inner_};
  }

  void load(const Block& block, void* target) override {
    const std::scoped_lock lock(library_mutex());
    const auto& shape = info_.shape;
    const Hdf5Handle space(hdf5_.H5Dget_space(dataset_->get()), hdf5_.H5Sclose);
    const Hsize count = block.count;
    const Hdf5Handle memory(hdf5_.H5Screate_simple(1, &count, nullptr), hdf5_.H5Sclose);
    if (!space.good() || !memory.good()) fail("no memory for a space");
    if (!shape.empty()) {
      std::array<Hsize, most_hdf5_rank> start{};
      std::array<Hsize, most_hdf5_rank> extent{};
      for (std::size_t i = 0; i < shape.size(); ++i) extent[i] = i < axis_ ? 1 : shape[i];
      extent[axis_] = block.count / inner_;
      std::uint64_t row = block.first / inner_;
      for (std::size_t i = axis_ + 1; i-- > 0; row /= shape[i]) start[i] = row % shape[i];
      if (hdf5_.H5Sselect_hyperslab(space.get(), 0, start.data(), nullptr, extent.data(), nullptr) < 0)
        fail("a part cannot be selected");
    }
    if (hdf5_.H5Dread(dataset_->get(), type_->get(), memory.get(), space.get(), 0, target) < 0)
      fail("the dataset cannot be read");
  }

  const LibHdf5& hdf5_ = opened<LibHdf5>();
  OpenedFile file_;
  std::optional<Hdf5Handle> opened_;
  std::optional<Hdf5Handle> dataset_;
  std::optional<Hdf5Handle> type_;  // of the elements in memory
  std::size_t axis_ = 0;            // of the blocks
  std::uint64_t inner_ = 1;         // elements of each step along it
  std::uint64_t rows_ = 1;          // steps of a block
};

}  // namespace

bool is_hdf5(std::span<const std::byte> head) noexcept {
  return begins(head, "\x89HDF\r\n\x1a\n");
}

std::unique_ptr<Source> open_hdf5(Input input) {
  opened<LibHdf5>().library.require(input.reader.name());
  return std::make_unique<Hdf5Source>(std::move(input));
}

}  // namespace masu::io
