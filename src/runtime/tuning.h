// SPDX-License-Identifier: Apache-2.0
// Constants that are fitted to a device: a primitive has them in one table, NAME_tuning.def, with a row for each:
//   MASU_TUNED(type, name, (value), "meaning", "inputs that decide", (tried), (tried))
// A value is one number, or the members of a shape. Plans read `tuned`, which has a member for each row; it changes
// only while `masu bench tune` tries values (bench/tune.cpp).
#pragma once

#define MASU_TUNED_VALUE(...) __VA_ARGS__
#define MASU_TUNED_MEMBER(type, name, value, ...) type name{MASU_TUNED_VALUE value};
