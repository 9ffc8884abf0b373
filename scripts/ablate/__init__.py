# SPDX-License-Identifier: BSD-3-Clause
"""The parts of scripts/ablation.py: running, judging, drawing and writing up the experiments."""
