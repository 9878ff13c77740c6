"""The controller: load the configuration, be elected, observe, compile, apply, read, write status.

``Controller`` holds it together. Around it: ``preparing`` compiles off the event loop, ``pacing`` drives the engine on real
time, ``reading`` turns its reads into requests, ``scanning`` looks at destinations, ``ledger`` remembers what was found,
``statuses`` writes that down as each kind's status.
"""

from runtime.controller.control import Controller, Settings

__all__ = ["Controller", "Settings"]
