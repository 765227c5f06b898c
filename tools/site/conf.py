# SPDX-License-Identifier: Apache-2.0
"""How Sphinx makes the site. tools/docs calls it with the staged pages."""
import os
import pathlib
import re

_root = pathlib.Path(os.environ["MASU_ROOT"])

project = "masu"
version = release = re.search(r"project\(masu VERSION ([\d.]+)", (_root / "CMakeLists.txt").read_text(encoding="utf-8"))[1]
language = "en"
extensions = ["myst_parser"]
source_suffix = {".md": "markdown", ".rst": "restructuredtext"}
root_doc = "index"

default_role = "code"  # Python's docstrings put code in single backticks
nitpicky = True  # a reference to an unknown name is an error
nitpick_ignore_regex = [("cpp:.*", ".*")]  # of C++ the standard library's names are unknown too
add_module_names = False
toc_object_entries_show_parents = "hide"

myst_heading_anchors = 6
suppress_warnings = ["myst.header"]  # levels of headings are the repository's own

cpp_maximum_signature_line_length = 100

html_theme = "furo"
html_title = f"masu {version}"
html_static_path = ["static"]
html_css_files = ["site.css"]
html_favicon = "static/icon.svg"
html_copy_source = html_show_sourcelink = False
html_show_copyright = False
html_use_index = True
html_theme_options = {
    "top_of_page_buttons": [],
    "footer_icons": [],
    "light_css_variables": {"color-brand-primary": "#1a4f8a", "color-brand-content": "#1a4f8a", "color-brand-visited": "#5b3f8c"},
    "dark_css_variables": {"color-brand-primary": "#8ab8f0", "color-brand-content": "#8ab8f0", "color-brand-visited": "#bda6ea"},
}
pygments_style = "a11y-high-contrast-light"
pygments_dark_style = "a11y-high-contrast-dark"
