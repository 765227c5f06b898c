#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# In debug builds a file may choose an instruction set that it was not compiled for.
# Version: Highway 1.0.3 (Debian 12, libhwy-dev 1.0.3-3+deb12u1), g++ 12, x86-64.
# Expected: GetIndex() counts only the sets of the file that calls it, which is why it stands in the header. A file without AVX3_DL gets
# the index of AVX3 on a processor that has both, whatever other files want.
# Seen: without optimization it is not inlined, and the linker keeps the first file's for all. Beside a file with HWY_WANT_AVX3_DL the other
# one gets the index of AVX3_DL, which its table lacks. No warning. (The processor's sets are given here, so any x86-64 shows it.)
set -eu
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
apt-get -qq download libhwy-dev=1.0.3-3+deb12u1 libhwy1=1.0.3-3+deb12u1 2>apt.log
for package in *.deb; do dpkg-deb -x "$package" .; done
cat >index.cpp <<'EOF'
#include <hwy/highway.h>
int NAME() {
  hwy::GetChosenTarget().Update(HWY_AVX3_DL | HWY_AVX3 | HWY_AVX2);
  return static_cast<int>(hwy::GetChosenTarget().GetIndex());
}
EOF
cat >main.cpp <<'EOF'
#include <cstdio>
int with_dl();
int without_dl();
int main() { std::printf("%d\n", without_dl() - with_dl()); }
EOF
lib=$folder/usr/lib/x86_64-linux-gnu
for flags in -O0 "-O2 -DNDEBUG"; do
  # shellcheck disable=SC2086
  {
    g++ $flags -I usr/include -DNAME=with_dl -DHWY_WANT_AVX3_DL -c index.cpp -o with.o
    g++ $flags -I usr/include -DNAME=without_dl -c index.cpp -o without.o
    g++ $flags main.cpp with.o without.o "$lib/libhwy.so.1" -o run
  }
  echo "$flags: $(LD_LIBRARY_PATH=$lib ./run)"
done >seen
cat seen
diff seen - <<'EOF'
-O0: 0
-O2 -DNDEBUG: 1
EOF
