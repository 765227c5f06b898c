// SPDX-License-Identifier: Apache-2.0
// Images of FITS through CFITSIO, whose documented ABI is declared here. The library brings the elements to this
// machine's byte order, applies BZERO and BSCALE, and undoes the compression of tiles.
#include "io/containers.h"

#include <fmt/format.h>
#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <utility>

namespace masu::io {
namespace {

struct FitsFile;
using FitsLong = long long;  // LONGLONG

struct LibFits {
  SharedLibrary library = library_of("FITS");
  int (*ffdkopn)(FitsFile**, const char*, int, int*) = library.function("ffdkopn");
  int (*ffclos)(FitsFile*, int*) = library.function("ffclos");
  int (*ffthdu)(FitsFile*, int*, int*) = library.function("ffthdu");
  int (*ffmahd)(FitsFile*, int, int*, int*) = library.function("ffmahd");
  int (*ffgiet)(FitsFile*, int*, int*) = library.function("ffgiet");
  int (*ffgidt)(FitsFile*, int*, int*) = library.function("ffgidt");
  int (*is_compressed)(FitsFile*, int*) = library.function("fits_is_compressed_image");
  int (*ffgidm)(FitsFile*, int*, int*) = library.function("ffgidm");
  int (*ffgiszll)(FitsFile*, int, FitsLong*, int*) = library.function("ffgiszll");
  int (*ffgky)(FitsFile*, int, const char*, void*, char*, int*) = library.function("ffgky");
  int (*ffgpv)(FitsFile*, int, FitsLong, FitsLong, void*, void*, int*, int*) = library.function("ffgpv");
  void (*ffgerr)(int, char*) = library.function("ffgerr");
  void (*ffcmsg)() = library.function("ffcmsg");
};

constexpr int most_fits_rank = 99;

// What ffgiet calls the elements, and what ffgpv takes.
struct FitsElement {
  int image;
  int code;
  Dtype dtype;
};
constexpr std::array<FitsElement, 10> fits_elements = {{{8, 11, Dtype::u8},
                                                        {10, 12, Dtype::i8},
                                                        {16, 21, Dtype::i16},
                                                        {20, 20, Dtype::u16},
                                                        {32, 31, Dtype::i32},
                                                        {40, 30, Dtype::u32},
                                                        {64, 81, Dtype::i64},
                                                        {80, 80, Dtype::u64},
                                                        {-32, 42, Dtype::f32},
                                                        {-64, 82, Dtype::f64}}};

struct CloseFits {
  void operator()(FitsFile* file) const {
    const std::scoped_lock lock(library_mutex());
    int ignored = 0;
    opened<LibFits>().ffclos(file, &ignored);
    opened<LibFits>().ffcmsg();
  }
};

class FitsSource final : public ArraySource {
 public:
  explicit FitsSource(Input input) : opened_(std::move(input.reader), input.options.tmpdir) {
    const std::scoped_lock lock(library_mutex());
    info_.format = "fits";
    FitsFile* file = nullptr;
    fits_.ffdkopn(&file, opened_.path(), 0, &status_);
    file_.reset(file);
    check("cannot be opened");
    opened_.remove_name();
    look(input);
  }

 private:
  void check(std::string_view what) {
    if (status_ == 0) return;
    std::array<char, 81> text{};  // CFITSIO writes 30 characters
    fits_.ffgerr(status_, text.data());
    fits_.ffcmsg();  // forgets what it has to say more
    opened_.reader().fail("fits: {}: {}", what, printable(text.data()));
  }

  void look(const Input& input) {
    int all = 0;
    fits_.ffthdu(file_.get(), &all, &status_);
    check("the headers cannot be read");
    std::vector<std::string> names;
    for (int unit = 1; unit <= all; ++unit) {
      if (go_to(unit)) names.push_back(std::to_string(unit - 1));
    }
    const std::size_t chosen = chosen_array(opened_.reader(), names, input.array, "image", "FILE.fits:N");
    (void)go_to(std::stoi(names[chosen]) + 1);
    std::array<FitsLong, most_fits_rank> extents{};
    fits_.ffgiszll(file_.get(), rank_, extents.data(), &status_);
    int kind = 0;
    int stored = 0;
    fits_.ffgiet(file_.get(), &kind, &status_);
    fits_.ffgidt(file_.get(), &stored, &status_);
    // Where floats lie as they are, asking for missing ones would make NaN of infinities and zeros of subnormals.
    has_missing_ = stored > 0 || fits_.is_compressed(file_.get(), &status_) != 0;
    check("the header cannot be read");
    // ffgiet leaves elements of 64 bits as they are stored, whatever their scale.
    if (kind == 64 && (number("BSCALE", 1) != 1 || number("BZERO", 0) != 0)) {
      kind = number("BSCALE", 1) == 1 && number("BZERO", 0) == 0x1p63 ? 80 : -64;
    }
    const auto* const found = std::find_if(fits_elements.begin(), fits_elements.end(),
                                           [&](const FitsElement& each) { return each.image == kind; });
    if (found == fits_elements.end()) opened_.reader().fail("fits: BITPIX {} is not known", kind);
    code_ = found->code;
    // The first axis of FITS is the one whose elements lie side by side.
    std::vector<std::uint64_t> shape;
    for (int i = rank_; i-- > 0;) shape.push_back(static_cast<std::uint64_t>(extents[static_cast<std::size_t>(i)]));
    const double blank = is_float(found->dtype) ? std::numeric_limits<double>::quiet_NaN()
                                                : number("BLANK", std::numeric_limits<double>::quiet_NaN());
    if (!std::isnan(blank))
      info_.notes.push_back(fmt::format("the file calls {:.0f} no value (BLANK); it is read as any value", blank));
    set_array(opened_.reader(), input.options, std::move(shape), found->dtype);
  }

  // A number of the header, or `otherwise` where it has none of that name.
  double number(const char* name, double otherwise) {
    double value = otherwise;
    fits_.ffgky(file_.get(), 82, name, &value, nullptr, &status_);  // TDOUBLE
    if (status_ != 202) {                                           // KEY_NO_EXIST
      check("the header cannot be read");
      return value;
    }
    status_ = 0;
    fits_.ffcmsg();
    return otherwise;
  }

  // Goes to a header and its data, from 1; false where they are no image with elements.
  bool go_to(int unit) {
    int kind = 0;
    fits_.ffmahd(file_.get(), unit, &kind, &status_);
    check("the headers cannot be read");
    rank_ = 0;
    if (kind != 0) return false;  // IMAGE_HDU
    fits_.ffgidm(file_.get(), &rank_, &status_);
    check("the header cannot be read");
    return rank_ > 0 && rank_ <= most_fits_rank;
  }

  [[nodiscard]] Block block_at(std::uint64_t element) const override {
    const std::uint64_t most = block_bytes / size_of(info_.dtype);
    std::uint64_t all = 1;
    for (const std::uint64_t extent : info_.shape) all *= extent;
    const std::uint64_t first = element / most * most;
    return {first, std::min(most, all - first)};
  }

  void load(const Block& block, void* target) override {
    const std::scoped_lock lock(library_mutex());
    // BLANK is a NaN where the values are floats, else as any other value.
    float missing_f32 = std::numeric_limits<float>::quiet_NaN();
    double missing_f64 = std::numeric_limits<double>::quiet_NaN();
    void* missing = !has_missing_               ? nullptr
                    : info_.dtype == Dtype::f32 ? static_cast<void*>(&missing_f32)
                    : info_.dtype == Dtype::f64 ? static_cast<void*>(&missing_f64)
                                                : nullptr;
    int any = 0;
    fits_.ffgpv(file_.get(), code_, static_cast<FitsLong>(block.first) + 1, static_cast<FitsLong>(block.count), missing,
                target, &any, &status_);
    check("the image cannot be read");
  }

  const LibFits& fits_ = opened<LibFits>();
  OpenedFile opened_;
  std::unique_ptr<FitsFile, CloseFits> file_;
  int status_ = 0;
  int rank_ = 0;
  int code_ = 0;
  bool has_missing_ = false;
};

}  // namespace

bool is_fits(std::span<const std::byte> head) noexcept {
  return begins(head, "SIMPLE  =                    T");
}

std::unique_ptr<Source> open_fits(Input input) {
  opened<LibFits>().library.require(input.reader.name());
  return std::make_unique<FitsSource>(std::move(input));
}

}  // namespace masu::io
