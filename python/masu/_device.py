# SPDX-License-Identifier: Apache-2.0
"""Which device a call runs on."""
import os

from . import _masu, _small

cpu = _masu.Device("cpu")
_opened: dict[str, _masu.Device] = {"cpu": cpu}


def resolve(device=None):
    """The masu.Device for the argument `device` of a call with host arrays: None is MASU_DEVICE, or "cpu"."""
    if device is None:
        device = os.environ.get("MASU_DEVICE") or "cpu"
    if isinstance(device, _masu.Device):
        return device
    if isinstance(device, _masu.DeviceInfo):
        device = device.id
    if not isinstance(device, str):
        raise TypeError(f"device: must be a name or a masu.Device, got {type(device).__name__}")
    found = _opened.get(device)
    if found is None:
        found = _opened[device] = _masu.Device(device)
    return found


def device_for(device, a):
    """The device of a call with `a`. Little data stays on the CPU, whatever MASU_DEVICE says: no device's start is worth it."""
    if device is None and (a.size < _small.limit or _masu.stays_here(a.size)):
        return cpu
    return resolve(device)


# oneTBB's threads do not live on in a forked process; one thread needs none of them.
os.register_at_fork(after_in_child=lambda: _masu.set_cpu_threads(1))
