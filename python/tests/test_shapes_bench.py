# SPDX-License-Identifier: Apache-2.0
"""bench/shapes.py: its cells, and a run on the CPU."""
import importlib.util
import json
import pathlib
import subprocess
import sys

import pytest

PROGRAM = pathlib.Path(__file__).resolve().parent.parent.parent / "bench/shapes.py"


@pytest.fixture(scope="module")
def shapes():
    spec = importlib.util.spec_from_file_location("shapes", PROGRAM)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_the_quick_list_has_22_shapes_of_2_25_elements_and_5_of_other_sizes(shapes):
    cells = shapes.quick_cells(["sum"], ["f32"])
    found = {(cell.rows, cell.columns) for cell in cells}
    assert len(found) == 37 and len(cells) == 2 * 37
    assert sum(abs(rows * columns / (1 << 25) - 1) < 0.01 for rows, columns in found) == 22
    for log in (12, 19, 27):
        assert sum(0.9 < rows * columns / (1 << log) <= 1 for rows, columns in found) == 5


def test_a_sample_is_drawn_by_its_seed(shapes):
    functions, dtypes = list(shapes.MASU), list(shapes.DTYPES)
    one = shapes.sampled_cells(functions, dtypes, 1, 300)
    assert one == shapes.sampled_cells(functions, dtypes, 1, 300) != shapes.sampled_cells(functions, dtypes, 2, 300)
    assert len(set(one)) == 300
    assert {cell.function for cell in one} == set(functions) and {cell.dtype for cell in one} == set(dtypes)
    assert {cell.axis for cell in one} == {0, 1}
    assert all(1 <= cell.rows * cell.columns <= 1 << 27 for cell in one)
    assert any(cell.rows & (cell.rows - 1) for cell in one)


def test_it_measures_each_function_on_the_cpu_and_draws_them(shapes, tmp_path):
    report, picture = tmp_path / "report.jsonl", tmp_path / "map.svg"
    ran = subprocess.run([sys.executable, PROGRAM, "--device", "cpu", "--most", "12", "--dtype", "f32", "--limit", "0", "-o", report, "--map", picture],
                         capture_output=True, text=True, timeout=300)
    assert ran.returncode == 0, ran.stderr
    *rows, about = [json.loads(line) for line in report.read_text().splitlines()]
    assert about["device"] == "cpu"
    # NumPy has no topk.
    assert {row["function"] for row in rows} == set(shapes.MASU) - {"topk"}
    assert all(row["us"]["masu"] > 0 and row["us"]["numpy"] > 0 and row["rows"] * row["columns"] <= 1 << 12 for row in rows)
    assert "0 of 100 cells are below 0.0" in ran.stdout
    assert all(f">{name}: rows" in picture.read_text() for name in set(shapes.MASU) - {"topk"})


def test_wrong_names_are_an_error():
    ran = subprocess.run([sys.executable, PROGRAM, "--device", "cpu", "--case", "nothing"], capture_output=True, text=True, timeout=60)
    assert ran.returncode == 2 and "no function or no dtype has such a name" in ran.stderr
