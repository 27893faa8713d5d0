"""The names of our commands, as the client sends them in workspace/executeCommand."""

from __future__ import annotations

SHOW = "optimas.showFindings"
HIDE = "optimas.hideFindings"
RELOAD = "optimas.reloadReports"
CHOOSE = "optimas.chooseReport"
OPEN_FINDING = "optimas.openFinding"
OPEN_KERNEL = "optimas.openKernel"
OPEN_REPORT = "optimas.openReport"
DEBUG = "optimas.debugInformation"
WHY_MAPPED = "optimas.whyMapped"
HOTSPOTS = "optimas.hotspots"
