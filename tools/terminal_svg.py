#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Draws what a command prints as a picture of a terminal, an SVG that is legible on light and dark pages.

    COLUMNS=72 ./run histogram images/cat.bmp | tools/terminal_svg.py --lines 35 "masu histogram images/cat.bmp" > FILE.svg

Standard input is the output; the argument is the command that stands above it. Bars of block characters are drawn as
rectangles, so that they look the same in every font.
"""
import argparse
import re
import sys
from xml.sax.saxutils import escape

WIDTH, HEIGHT, MARGIN = 7.25, 13, 12  # of a character, of a line, around all
EIGHTHS = {character: eighths for eighths, character in enumerate(" ▏▎▍▌▋▊▉█")}
BACK, TEXT, PROMPT, BAR = "#1b1f24", "#e6e8eb", "#8fd19e", "#5aa9e6"


def line_of(text, y):
    """The words of a line, each at its column, and its bars."""
    for word in re.finditer(r"[▏▎▍▌▋▊▉█]+|[^\s▏▎▍▌▋▊▉█]+(?: [^\s▏▎▍▌▋▊▉█]+)*", text):
        x = MARGIN + word.start() * WIDTH
        if word.group()[0] in EIGHTHS:
            length = sum(EIGHTHS[character] for character in word.group()) / 8 * WIDTH
            yield f'<rect x="{x:.1f}" y="{y - HEIGHT + 4.5}" width="{length:.1f}" height="{HEIGHT - 3}" fill="{BAR}"/>'
        else:
            yield f'<text x="{x:.1f}" y="{y}" textLength="{len(word.group()) * WIDTH:.1f}">{escape(word.group())}</text>'


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("command")
    parser.add_argument("--lines", type=int, default=40, help="of the output; what follows is left out, and said so")
    options = parser.parse_args()
    output = sys.stdin.read().splitlines()
    shown = output[:options.lines]
    if len(output) > len(shown):
        shown.append(f"… {len(output) - len(shown)} more lines")
    columns = max(map(len, [options.command + "  ", *shown]))
    width, height = 2 * MARGIN + columns * WIDTH, 2 * MARGIN + (len(shown) + 1) * HEIGHT
    out = [f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width:.0f} {height:.0f}" width="{width:.0f}" '
           f'height="{height:.0f}" font-family="ui-monospace,Menlo,Consolas,monospace" font-size="12" fill="{TEXT}" '
           'xml:space="preserve">',
           f"<title>{escape(options.command)}</title>",
           f'<rect width="100%" height="100%" rx="8" fill="{BACK}"/>',
           f'<text x="{MARGIN}" y="{MARGIN + 10}" fill="{PROMPT}">$ {escape(options.command)}</text>']
    for index, text in enumerate(shown, 1):
        out += line_of(text, MARGIN + 10 + index * HEIGHT)
    print("\n".join([*out, "</svg>"]))


if __name__ == "__main__":
    main()
