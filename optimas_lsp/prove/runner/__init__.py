"""The runner of a proof job: standard library only, Python 3.8 or newer, shipped as one file to wherever the GPU is.

``prove.bundle`` packs this package into ``runner.pyz``; ``python3 runner.pyz JOB`` works on any GPU node. It reads
``JOB/job.json``, writes ``JOB/result.json`` and ``JOB/events.jsonl`` as it goes, and resumes where it was stopped.
"""

VERSION = "2"
