"""The lab's hosts as folders: each tick's counters and settings, written where they changed."""

from collections.abc import Iterable
from pathlib import Path
from typing import Final

from rocediag.lab import machine, nic
from rocediag.lab.files import Folder, Scratch
from rocediag.lab.model import Model
from rocediag.lab.scenarios import Scenario
from rocediag.lab.tally import Nic, ports

FOLDER: Final = "hosts"
SCRATCH: Final = ".scratch"


class Hosts:
    """Folders ``hosts/<host>`` with ``sys``, ``ethtool``, ``dcb`` and ``boot_id`` in each."""

    def __init__(self, directory: Path, model: Model) -> None:
        self._model = model
        self._names = model.topology.hosts
        self._edges = list(zip(*ports(model.topology), strict=True))
        scratch = Scratch(directory / SCRATCH)
        self._folders = [Folder(directory / FOLDER / name, scratch) for name in self._names]
        for number, folder in enumerate(self._folders, 1):
            folder.put(machine.fixed(number))
            folder.put(nic.still())
            folder.link(machine.LINKS)
        self.set_up(self._names)
        self.publish()

    def set_up(self, hosts: Iterable[str]) -> None:
        """Write the settings of these hosts as the model's troubles have them."""
        for host in hosts:
            number = self._names.index(host)
            befallen = {s for s in Scenario if (s, host) in self._model.troubles}
            texts = machine.settings(number + 1, befallen, self._model.boots[number])
            folder = self._folders[number]
            folder.put({path: text for path, text in texts.items() if text is not None})
            folder.drop([path for path, text in texts.items() if text is None])

    def publish(self) -> None:
        """Write the counters of all hosts as they stand."""
        counts = self._model.wire(), self._model.prios(), self._model.nics()
        unheld = self._model.hosts_in(Scenario.PFC_OFF_AFTER_REBOOT)
        stalling = self._model.rate(Nic.STALLED_SECONDS) > 0
        for host, folder in enumerate(self._folders):
            stalls, pfc = bool(stalling[host]), not unheld[host]
            now = nic.counted(counts, host, self._edges[host], stalling=stalls, pfc=pfc)
            folder.put(nic.texts(now))
