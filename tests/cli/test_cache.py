# SPDX-License-Identifier: Apache-2.0
"""masu cache: kernels of other machines' GPUs, compiled here, are found by the key of their text alone. With stand-ins for the
CUDA driver and, where only the way is tested, for NVRTC.
"""
import pathlib
import re
import shutil
import subprocess
import unittest

from command import CommandTest, masu

ROOT = pathlib.Path(__file__).resolve().parents[2]
STAND_INS = ROOT / "tests/fake_cuda"


class CacheTest(CommandTest):
    def stand_in(self, source, name, *options):
        subprocess.run(["cc", "-shared", "-fPIC", *options, "-o", self.path(name), STAND_INS / source], check=True)
        return self.path(name)

    def setUp(self):
        super().setUp()
        self.driver = self.stand_in("fake_cuda.c", "libcuda.so.1", "-DFAKE_CUDA_ANY")
        self.nvrtc = self.stand_in("fake_nvrtc.c", "libnvrtc.so")

    def build(self, *options, **environment):
        return masu("cache", "build", *options, env={"MASU_NVRTC": self.nvrtc, **environment})

    def sort(self, folder, **environment):
        """Without NVRTC: only packaged kernels can be launched."""
        more = {"MASU_CUDA_LIBRARY": self.driver, "MASU_NVRTC": "/no/nvrtc", "MASU_CACHE": "off", "MASU_PACKAGED_KERNELS": str(folder)}
        return masu("sort", "random:f32:1Mi", "-o", "/dev/null", "--device", "cuda:0", env={**more, **environment})

    def misses(self, folder, **environment):
        result = self.sort(folder, **environment)
        self.assertEqual(result.returncode, 1)
        self.assertIn(b"NVRTC must be present", result.stderr)

    def test_packages_are_used_where_all_fits(self):
        folder = pathlib.Path(self.path("made/kernels"))
        result = self.build("--arch", "sm_80,sm_90", "-o", str(folder))
        self.assertEqual(result.returncode, 0, result.stderr)
        self.assertRegex(result.stdout.decode(), r"^\S+/sm_80\.kernels: \d+ kernels, \S+ MiB\n\S+/sm_90\.kernels: ")
        self.assertEqual(self.sort(folder).returncode, 0)
        self.misses("off")
        self.misses(self.path("none"))

        with self.subTest("another architecture"):
            shutil.copy(folder / "sm_80.kernels", pathlib.Path(self.path("sm_90.kernels")))
            self.misses(pathlib.Path(self.path("sm_90.kernels")).parent)
        with self.subTest("other kernels"):  # than this library's
            sources = pathlib.Path(self.path("sources"))
            shutil.copytree(ROOT / "src", sources / "src", ignore=shutil.ignore_patterns("*.cpp", "*.h", "*.def"))
            for file in sources.glob("src/**/*.c*"):  # the library's own have no lines of comments and are not indented
                text = re.sub(r"\n[ \t]+", "\n", re.sub(r"(?m)^[ \t]*//.*$", "", file.read_text(encoding="utf-8")))
                file.write_text(re.sub(r"[ \t]+\\\n", r" \\\n", text), encoding="utf-8")
            self.assertEqual(self.sort(folder, MASU_KERNEL_DIR=str(sources)).returncode, 0)
            with open(sources / "src/elements/order.cl", "a", encoding="utf-8") as file:
                file.write("// changed\n")
            self.misses(folder, MASU_KERNEL_DIR=str(sources))
        package = folder / "sm_90.kernels"
        whole = package.read_bytes()
        with self.subTest("truncated"):
            package.write_bytes(whole[:2000])
            self.misses(folder)
        with self.subTest("changed"):
            package.write_bytes(bytes(256 - byte & 255 for byte in whole))
            self.misses(folder)
            start = whole.index(b"\x78\xda")  # the contents, each compressed by zlib
            package.write_bytes(whole[:start] + bytes(byte ^ 1 for byte in whole[start:]))
            self.misses(folder)

    def test_a_file_has_the_first_kernels_that_fit(self):
        folder = pathlib.Path(self.path("kernels"))
        result = self.build("--arch", "sm_90", "--size", "8Ki", "-o", str(folder))
        self.assertEqual(result.returncode, 0, result.stderr)
        self.assertRegex(result.stdout.decode(), r"^\S+/sm_90\.kernels: \d+ kernels, as many as fit, 0\.0 MiB\n$")
        self.assertTrue(4 << 10 < (folder / "sm_90.kernels").stat().st_size <= 8 << 10)

    def test_devices_names_the_files(self):
        folder = pathlib.Path(self.path("kernels"))
        self.build("--arch", "sm_80,sm_90", "--size", "8Ki", "-o", str(folder))
        environment = {"MASU_PACKAGED_KERNELS": str(folder), "OCL_ICD_VENDORS": "/nonexistent"}
        used = [f"{folder}/sm_{number}.kernels: kernels compiled ahead" for number in (80, 90)]
        self.assertEqual(masu("devices", env=environment).stdout.decode().splitlines()[-2:], used)
        package = folder / "sm_90.kernels"
        whole = package.read_bytes()
        version = masu("--version").stdout.decode().split()[1]
        for content, reason in (
            (whole[:2000], "it is truncated or damaged"),
            (b"", "it is no package of kernels"),
            (whole.replace(version.encode(), b"0.0.9", 1), f"it is for masu 0.0.9, this is {version}"),
            (whole.replace(b"sm_90", b"sm_80", 1), "it is for sm_80, and named after sm_90"),
            (re.sub(rb"[0-9a-f]{16}\n", b"0" * 16 + b"\n", whole, count=1),
             "it was made of other kernels than this library's: make it anew (masu cache build)"),
        ):
            package.write_bytes(content)
            result = masu("devices", env=environment)
            self.assertEqual((result.returncode, result.stderr.decode()), (0, f"{package}: not used: {reason}\n"))
            self.assertEqual(result.stdout.decode().splitlines()[-1], used[0])
            self.misses(folder)
            self.assertEqual(masu("devices", "--json", env=environment).stderr, result.stderr)

    def test_a_device_fills_the_cache_of_the_user(self):
        environment = {"MASU_CUDA_LIBRARY": self.driver, "MASU_CACHE": "", "XDG_CACHE_HOME": self.path("cache")}
        result = self.build("--device", "cuda:0", **environment)
        self.assertEqual(result.returncode, 0, result.stderr)
        self.assertEqual(result.stdout, b"cuda:0: done\n")
        self.assertGreater(len(list(pathlib.Path(self.path("cache/masu")).iterdir())), 100)

    def test_what_is_wrong_is_named(self):
        for options, text in [
            (("--arch", "sm_91"), "--arch takes sm_80, sm_90, sm_100, sm_120, got 'sm_91'"),
            (("--arch", "sm_90", "--device", "cuda:0"), "--arch and --device exclude each other"),
            (("-o", self.path("x")), "-o needs --arch"),
            (("--size", "1Mi"), "--size needs --arch"),
            (("--arch", "sm_90", "--size", "1"), "--size takes a whole number from 4096 to 268435456"),
            (("--arch", "sm_90", "--size", "much"), "--size takes a whole number"),
        ]:
            with self.subTest(options):
                result = self.build(*options)
                self.assertEqual(result.returncode, 2)
                self.assertIn(text, result.stderr.decode())
        self.assertEqual(masu("cache", "clear").returncode, 2)
        result = self.build("--device", "cuda:0", MASU_CACHE="off")
        self.assertIn(b"MASU_CACHE must not be off", result.stderr)
        result = self.build("--arch", "sm_90", "-o", "/proc/none")
        self.assertEqual(result.returncode, 1)
        self.assertIn(b"/proc/none/sm_90.kernels: cannot be written", result.stderr)
        result = masu("cache", "build", "--arch", "sm_90", "-o", self.path("x"), env={"MASU_NVRTC": "/no/nvrtc"})
        self.assertEqual(result.returncode, 1)
        self.assertIn(b"NVRTC must be present", result.stderr)


if __name__ == "__main__":
    unittest.main()
