"""Networks by chance, on all targets, against other runtimes: `python -m benchmarks.differential --runs 1000`.

A family (`families/`) draws a case from choices (`choices.py`) that can be made again; several cases are compiled as
one program (`merging.py`) for a machine (`machines.py`), run, and judged (`judge.py`). What is wrong is made smaller
(`shrink.py`) and becomes a test (`regression.py`). `tally.py` counts.
"""
