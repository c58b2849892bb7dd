"""Which test process runs what when there are several.

A process is given whole files, so what a file prepares is prepared once. Those with a real browser come first, since they
take longest, in two processes at most: a browser and its server use more than one core, and presses come late where three
share two cores. The others fill what is left of the cores meanwhile.
"""

from __future__ import annotations

from xdist.scheduler.loadfile import LoadFileScheduling

BROWSER = "tests/browser/"
MOST_BROWSERS = 2


class BrowsersFirst(LoadFileScheduling):
    def __init__(self, config, log=None) -> None:
        config.option.loadscopereorder = False  # the order of the collection, not the number of tests
        super().__init__(config, log)

    def _assign_work_unit(self, node) -> None:
        others = [work for other, work in self.assigned_work.items() if other is not node]
        in_use = sum(any(file.startswith(BROWSER) and not all(done.values()) for file, done in work.items()) for work in others)
        wanted = (file for file in self.workqueue if in_use < MOST_BROWSERS or not file.startswith(BROWSER))
        self.workqueue.move_to_end(next(wanted, next(iter(self.workqueue))), last=False)
        super()._assign_work_unit(node)
