#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# tests/aarch64/sysroot.sh FOLDER PACKAGE…: these packages and what they need, for aarch64, unpacked in FOLDER. The system's own
# packages stay as they are.
set -euo pipefail

folder=$1
shift
[[ ! -f $folder/.unpacked || $(<"$folder/.unpacked") != "$*" ]] || exit 0
apt=$folder.apt
rm -rf "$folder" "$apt"
mkdir -p "$folder" "$apt"/{lists/partial,archives/partial}
touch "$apt/status"
cat >"$apt/apt.conf" <<CONF
APT::Architecture "arm64";
APT::Architectures { "arm64"; };
APT::Install-Recommends "false";
APT::Sandbox::User "root";
Dir::State::lists "$apt/lists";
Dir::State::status "$apt/status";
Dir::Cache "$apt";
CONF
export APT_CONFIG=$apt/apt.conf
apt-get update -q
apt-get install -y -q --download-only "$@"
for package in "$apt"/archives/*.deb; do dpkg-deb -x "$package" "$folder"; done
rm -rf "$apt"
echo "$*" >"$folder/.unpacked"
