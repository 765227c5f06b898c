// SPDX-License-Identifier: Apache-2.0
/// @file
/// Symbol visibility. The library hides every symbol that is not marked MASU_EXPORT.
#pragma once

#define MASU_EXPORT __attribute__((visibility("default")))
