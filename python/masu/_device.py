# SPDX-License-Identifier: Apache-2.0
"""Which device a call runs on."""
import os

from . import _masu

_opened = {}


def resolve(device=None):
    """The _masu.Device for the argument `device` of a call with host arrays: None is MASU_DEVICE, or "cpu"."""
    if device is None:
        device = os.environ.get("MASU_DEVICE") or "cpu"
    if isinstance(device, _masu.Device):
        return device
    if not isinstance(device, str):
        raise TypeError(f"device: must be a name or a masu.Device, got {type(device).__name__}")
    found = _opened.get(device)
    if found is None:
        found = _opened[device] = _masu.open_device(device)
    return found
