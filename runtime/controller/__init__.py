"""The controller: load the configuration, be elected, observe, compile, apply, read, write status.

``Controller`` holds it together, a ``Term`` is what lies between being elected and ending. Around them: ``configuring``
looks at the configuration, ``preparing`` compiles off the event loop, ``pacing`` drives the engine on real time,
``carrying`` and ``reading`` turn its reads into requests, ``scanning`` looks at destinations, ``ledger`` and
``findings`` remember what was found, ``statuses`` writes that down as each kind's status, ``showing`` shows it.
"""

from runtime.controller.configuring import InvalidConfiguration
from runtime.controller.control import Controller, Settings
from runtime.controller.instruments import Instruments
from runtime.controller.times import Clocks

__all__ = ["Clocks", "Controller", "Instruments", "InvalidConfiguration", "Settings"]
